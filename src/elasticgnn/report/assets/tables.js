// One section per study: its table and its figure.

const NAMES = { cora: "Cora", citeseer: "CiteSeer", pubmed: "PubMed", polblogs: "Polblogs", cs: "CS",
  physics: "Physics", computers: "Computers", photo: "Photo" };

function nameOf(dataset) {
  return NAMES[dataset] || dataset;
}

function rowLabel(study, dataset, level) {
  if (study.axis === "rate") return `${nameOf(dataset)} ${Math.round(1000 * level) / 10} %`;
  return study.axis === "steps" ? `${nameOf(dataset)} K=${level}` : nameOf(dataset);
}

function find(study, dataset, level, model) {
  return study.entries.find((entry) => entry.dataset === dataset && entry.level === level && entry.model === model);
}

/** Rows are data sets and levels, columns are models; every number is a button. */
function studyTable(study) {
  const titles = [...study.models.map((model) => model.title), ...(study.contrast ? [study.contrast] : [])];
  const head = element("tr", {}, element("th", {}, ""), ...titles.map((title) => element("th", {}, title)));
  const rows = study.datasets.flatMap((dataset) => study.levels.map((level) => tableRow(study, dataset, level)));
  return element("div", { class: "scroll", tabindex: "0" },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function tableRow(study, dataset, level) {
  const entries = study.models.map((model) => find(study, dataset, level, model.name));
  const best = Math.max(...entries.map((entry) => (entry && entry.ours ? entry.ours[0] : -Infinity)));
  return element("tr", {}, element("th", { scope: "row" }, rowLabel(study, dataset, level)),
    ...entries.map((entry) => tableCell(study, entry, best)),
    study.contrast ? contrastCell(study, find(study, dataset, level, study.compare)) : null);
}

/** The study's own model minus its baseline on the same splits, and whether that is a tie. */
function contrastCell(study, entry) {
  if (!entry || !entry.paired || entry.paired[2] === null) return element("td", {}, "");
  const [mean, , low, high] = entry.paired;
  const text = `${mean >= 0 ? "+" : ""}${shown(mean, study.digits)} ± ${shown((high - low) / 2, study.digits)}`;
  return element("td", { class: "number contrast" }, text, element("small", {}, entry.word));
}

function tableCell(study, entry, best) {
  if (!entry) return element("td", {}, "");
  if (!entry.ours) return element("td", {}, element("small", {}, entry.paper ? `paper ${meanAndStd(entry.paper, study.digits)}` : ""));
  const mark = { above: " ↑", below: " ↓" }[entry.verdict] || "";
  const number = element("span", { class: entry.ours[0] === best ? "best" : "" }, meanAndStd(entry.ours, study.digits) + (entry.search === "fixed" ? "°" : "") + mark);
  const fewer = entry.runs.length === study.runs ? null : element("small", {}, `${entry.runs.length} runs`);
  const paper = entry.paper ? element("small", {}, `paper ${meanAndStd(entry.paper, study.digits)}`) : null;
  const button = element("button", { type: "button", class: entry.verdict, title: entry.verdict,
    onclick: () => openCell(study, entry) }, number, fewer, paper);
  return element("td", { class: "number" }, button);
}

/** Lines along the study's axis for one data set at a time; the paper's dashed. */
function studyFigure(study) {
  if (study.metric === "objective") return objectiveFigure(study);
  if (study.axis === "none") return null;
  const place = element("div", {});
  const show = (dataset) => place.replaceChildren(lineChart({
    lines: study.models.flatMap((model, index) => modelLines(study, dataset, model, COLOURS[index % COLOURS.length])),
    xTitle: study.axis === "rate" ? "edges changed, %" : "propagation steps K",
    yTitle: "test accuracy, %",
    caption: `${nameOf(dataset)}: mean with its 95 % interval` + (study.axis === "rate" ? "; the paper’s means dashed" : ""),
  }));
  return element("div", { class: study.axis === "rate" ? "robustness" : "steps" },
    element("h3", {}, study.axis === "rate" ? "Accuracy against the attack rate" : "Accuracy against the steps"),
    datasetTabs(study.datasets, show), place);
}

function modelLines(study, dataset, model, colour) {
  const entries = study.levels.map((level) => find(study, dataset, level, model.name)).filter(Boolean);
  const x = (entry) => (study.axis === "rate" ? Math.round(1000 * entry.level) / 10 : entry.level);
  const ours = entries.filter((entry) => entry.ours).map((entry) => [x(entry), entry.ours[0], entry.ours[2], entry.ours[3]]);
  const paper = entries.filter((entry) => entry.paper).map((entry) => [x(entry), entry.paper[0]]);
  const lines = [];
  if (ours.length) lines.push({ title: model.title, colour, points: ours });
  if (paper.length) lines.push({ title: model.title, colour, points: paper, dashed: true });
  return lines;
}

function objectiveFigure(study) {
  const lines = study.entries.filter((entry) => entry.series && entry.series.length).map((entry, index) => ({
    title: nameOf(entry.dataset), colour: COLOURS[(index + 2) % COLOURS.length],
    points: entry.series.map((value, step) => [step, value]),
  }));
  return lineChart({ lines, xTitle: "step k", yTitle: "relative objective", digits: 4,
    caption: "Objective after k steps divided by its value after the last one, mean over the runs" });
}

function datasetTabs(datasets, show) {
  const buttons = datasets.map((dataset) => element("button", { type: "button", "aria-pressed": "false",
    onclick: () => choose(dataset) }, nameOf(dataset)));
  const choose = (dataset) => {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(datasets[index] === dataset)));
    show(dataset);
  };
  choose(datasets[0]);
  return element("div", { class: "tabs" }, ...buttons);
}
