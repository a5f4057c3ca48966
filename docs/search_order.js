// Copyright 2026 The two_manifold_ros developers
// SPDX-License-Identifier: Apache-2.0
// Order of what a search of the site finds: first the page whose title is what was asked for.
var Scorer = {
  // As Sphinx has them.
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,

  score: ([, title, , , score]) => {
    const words = (text) => text.toLowerCase().match(/[a-z]{3,}/g) ?? [];
    const asked = words(new URLSearchParams(location.search).get('q') ?? '');
    const named = words(title.split(' > ')[0]);
    const found = named.filter((name) => asked.some((word) => name.startsWith(word)));
    return score + 20 * found.length / Math.max(named.length, 1);
  },
};
