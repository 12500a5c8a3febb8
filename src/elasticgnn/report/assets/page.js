// Builds the page from its data.

const DATA = JSON.parse(document.getElementById("data").textContent);

function studySection(study) {
  const figure = studyFigure(study);
  const hasNumbers = study.entries.some((entry) => entry.ours);
  return element("section", { id: study.name },
    element("h2", {}, `${heading(study.name)}: ${study.title}`),
    element("p", { class: "note" }, study.agreement),
    ...(study.axis === "steps" ? [figure, folded(studyTable(study))] : [hasNumbers ? studyTable(study) : null, figure]),
    ...study.notes.map((note) => element("p", { class: "note" }, note)));
}

/** A table that a figure already shows: there for those who want the numbers. */
function folded(table) {
  return element("details", {}, element("summary", {}, "All numbers"), table);
}

function heading(name) {
  const variants = { 16: "16 units", divided: "divided rows" };
  return name.replace(/^([a-z]+)(\d+)(?:-(\w+))?$/, (_, word, number, variant) =>
    `${word[0].toUpperCase()}${word.slice(1)} ${number}${variant ? `, ${variants[variant] ?? variant}` : ""}`);
}

function overviewCard(study) {
  const total = study.counts.within + study.counts.above + study.counts.below;
  const part = (word) => element("i", { class: word, style: `width:${(100 * study.counts[word]) / (total || 1)}%` });
  return element("div", { class: "card" }, element("a", { href: `#${study.name}` }, heading(study.name)),
    element("p", {}, total ? `${study.counts.within} within, ${study.counts.above} above, ${study.counts.below} below` : study.agreement),
    total ? element("div", { class: "share" }, ...["within", "above", "below"].map(part)) : null);
}

/** The paper's sentences with what the records say, every comparison folded below. */
function claimsSection(claims) {
  const marks = { true: "yes", false: "no", null: "open" };
  const cases = (claim) => element("details", {},
    element("summary", {}, claim.summary),
    ...claim.cases.map(([name, holds, figure]) => element("p", { class: "note" }, `${marks[holds]}: ${name}, ${figure}`)));
  const rows = claims.rows.map((claim) => element("tr", {}, element("th", { scope: "row" }, heading(claim.study)),
    element("td", {}, claim.sentence), element("td", {}, claim.verdict), element("td", {}, cases(claim))));
  const head = element("tr", {}, ...["study", "the paper says", "records say", "cases"].map((title) => element("th", {}, title)));
  return element("section", { id: "claims" }, element("h2", {}, "What the paper says, and what the records say"),
    element("p", { class: "note" }, claims.rule),
    element("div", { class: "scroll", tabindex: "0" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))));
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
}

function start() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () =>
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  document.getElementById("nav").append(element("a", { href: "#claims" }, "Claims"), ...DATA.studies.map((study) =>
    element("a", { href: `#${study.name}` }, heading(study.name))));
  document.getElementById("overview").append(element("div", { class: "cards" }, ...DATA.studies.map(overviewCard)));
  document.getElementById("studies").append(...(DATA.studies.length
    ? [claimsSection(DATA.claims), ...DATA.studies.map(studySection)] : [element("p", {}, "No results are stored yet.")]));
  const dialog = document.getElementById("cell");
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

start();
