import type { StoredJob } from "../../bulk/log/jobs.ts";
import { defineCommand } from "../../command.ts";
import { parseDurationFlag } from "../../parse/globals.ts";

const usualAge = "30d";

export const jobsPrune = defineCommand({
  words: ["router", "jobs", "prune"],
  sendsNothing: true,
  summary: "Remove the logs of bulk jobs that finished long ago",
  description:
    "Keeps unfinished jobs, which can be resumed, and damaged ones. Keeps jobs with failed rows, unless --partial is given. Jobs are never removed automatically.",
  positionals: [],
  flags: [
    {
      flag: "older-than",
      type: "text",
      placeholder: "DURATION",
      default: usualAge,
      description: "Minimum age of finished jobs: 30d, 12h, PT2H; 0s for all",
    },
    { flag: "partial", type: "switch", description: "Include jobs with skipped or rejected rows" },
    { flag: "dry-run", short: "n", type: "switch", description: "List the jobs without removing them" },
  ],
  examples: [
    { title: "List the jobs to remove", argv: ["router", "jobs", "prune", "--dry-run"] },
    {
      title: "Remove finished jobs that are older than a week",
      argv: ["router", "jobs", "prune", "--older-than", "7d"],
    },
  ],
  async run({ flags }, { host, output }) {
    const { listJobs, removeJob } = await import("../../bulk/log/jobs.ts");
    const ageMs = parseDurationFlag(flags["older-than"] ?? usualAge, "--older-than");
    const isOld = ({ at }: StoredJob) => host.wall.now() - Date.parse(at) >= ageMs;
    const ended = new Set(flags.partial ? ["done", "partial"] : ["done"]);
    const stored = (await listJobs(host)).filter((job) => job.status !== "damaged");
    const old = stored.filter((job) => ended.has(job.status) && isOld(job));
    const isDry = flags["dry-run"] === true;
    if (!isDry) for (const { folder } of old) await removeJob(folder);
    const rows = old.map(({ record, status, at, rows: done }) => ({
      id: record.id,
      command: record.command,
      status,
      rows: done,
      finished_at: at,
    }));
    const fields = ["id", "command", "status", "rows", "finished_at"];
    await output.show(rows, { fields, columns: fields, none: "No jobs to remove" });
    if (rows.length > 0) await output.note(isDry ? `${rows.length} would be removed` : `Removed ${rows.length}`);
    return undefined;
  },
});
