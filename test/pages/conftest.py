# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A browser for pages."""

import browsing

browse, browser = browsing.browse, browsing.browser
