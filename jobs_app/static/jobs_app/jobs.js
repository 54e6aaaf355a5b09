// What makes the pages of jobs_app livelier. Every task works without it.
import { startLive } from "./live.js";
import { startPreviews } from "./preview.js";
import { startKeys } from "./keys.js";
import { startTimes } from "./times.js";

startLive();
startPreviews();
startKeys();
startTimes();
