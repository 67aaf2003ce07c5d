// The sections of the report, in the order they are shown: {id, title, render(data) -> Node | null}.

import { verdictSection } from "./verdict.js";
import { scoresSection } from "./scores.js";
import { meansSection } from "./means.js";
import { differencesSection } from "./differences.js";
import { winsSection } from "./wins.js";
import { ranksSection } from "./ranks.js";
import { tradeoffsSection } from "./tradeoffs.js";
import { groupsSection } from "./groups.js";
import { phrasingsSection } from "./phrasings.js";
import { adversariesSection } from "./adversaries.js";
import { tablesSection } from "./tables.js";
import { limitsSection } from "./limits.js";
import { costSection } from "./cost.js";
import { inputsSection } from "./inputs.js";

export const SECTIONS = [
  verdictSection,
  scoresSection,
  meansSection,
  differencesSection,
  winsSection,
  ranksSection,
  tradeoffsSection,
  groupsSection,
  phrasingsSection,
  adversariesSection,
  tablesSection,
  limitsSection,
  costSection,
  inputsSection,
];
