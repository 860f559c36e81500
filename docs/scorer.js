/* Ranks of search results: pages that answer questions come before results, history and lists. */
var Scorer = {
  score: ([docname, title, anchor, description, score]) =>
    /^(lab\/.*|reproduction|changelog|quality|architecture|format)$/.test(docname)
      ? score - 12
      : docname.startsWith("api/")
        ? score - (/^bneuralt\.\w+$/.test(title) ? 3 : 10)
        : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
