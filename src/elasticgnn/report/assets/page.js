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
  return name.replace(/^([a-z]+)(\d+)$/, (_, word, number) => `${word[0].toUpperCase()}${word.slice(1)} ${number}`);
}

function overviewCard(study) {
  const total = study.counts.within + study.counts.above + study.counts.below;
  const part = (word) => element("i", { class: word, style: `width:${(100 * study.counts[word]) / (total || 1)}%` });
  return element("div", { class: "card" }, element("a", { href: `#${study.name}` }, heading(study.name)),
    element("p", {}, total ? `${study.counts.within} within, ${study.counts.above} above, ${study.counts.below} below` : study.agreement),
    total ? element("div", { class: "share" }, ...["within", "above", "below"].map(part)) : null);
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
  document.getElementById("nav").append(...DATA.studies.map((study) =>
    element("a", { href: `#${study.name}` }, heading(study.name))));
  document.getElementById("overview").append(element("div", { class: "cards" }, ...DATA.studies.map(overviewCard)));
  document.getElementById("studies").append(...(DATA.studies.length
    ? DATA.studies.map(studySection) : [element("p", {}, "No results are stored yet.")]));
  const dialog = document.getElementById("cell");
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

start();
