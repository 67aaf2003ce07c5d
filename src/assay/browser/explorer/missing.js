// What is not in this file, and how to get it.

import { h, prose } from "../common/dom.js";

const MISSING_WORDS = {
  rankings: "The rankings are not in this file.",
  sources: "No source is in this file.",
  traces: "No trace is in this file.",
};

/** Say that a block is not in the page, and what the run says of why. */
export function missingBlock(data, name) {
  if (data.live && name === "traces")
    return [
      h(
        "p",
        { class: "note" },
        data.live.engines.length ? "“Ask again”, below, shows it." : "No engine of this run can say what it did.",
      ),
    ];
  const said = data.summary.left_out.filter((one) => one.block === name);
  return [
    h("p", { class: "note" }, MISSING_WORDS[name], " ", prose(HOW_TO_GET[name])),
    said.map((one) => h("p", { class: "note" }, prose(one.text))),
  ];
}

const HOW_TO_GET = {
  rankings: "`assay report RESULTS` makes it again with them.",
  sources: "`assay report RESULTS --max-size 10MB` makes it again with more, where the code is still what the run saw.",
  traces: "`assay report RESULTS --traces 20` asks the builtin engine again and adds what each of its stages did.",
};
