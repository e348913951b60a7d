import { lookupTable } from "../../base/object.ts";
import { createSwitch } from "../../derive/command-spec.ts";
import { globalFlags } from "../parse/globals.ts";
import { environmentVariables } from "../process/environment.ts";
import { exitCodes } from "../process/exit.ts";
import { createFlagTable, type HelpPage } from "./layout.ts";

/** Creates the page of each topic of `svc help`. */
export const helpTopics = lookupTable<() => Promise<HelpPage> | HelpPage>({
  options: () => ({
    tables: [
      createFlagTable("Options of every command", [
        ...globalFlags,
        createSwitch("version", "Print the version", { short: "V" }),
        createSwitch("help", "Show help for a command, a group or svc", { short: "h" }),
      ]),
    ],
    notes: ["They can be anywhere on the command line."],
  }),
  "exit-codes": () => ({
    tables: [{ title: "Exit codes", rows: exitCodes.map(({ code, meaning }) => [String(code), meaning]) }],
    notes: [
      "svc emulator exec exits with the code of its command, 127 if the program does not exist, and 126 if it cannot be run.",
    ],
  }),
  environment: () => ({
    tables: [{ title: "Environment variables", rows: environmentVariables }],
    notes: ["Options override the environment, and the environment overrides the profile: svc help addresses."],
  }),
  formats: () => ({
    introduction: ["Standard output carries data; standard error carries notes, progress, prompts and errors."],
    tables: [
      {
        title: "Output formats",
        rows: [
          ["(default)", "a table on a terminal, tab-separated rows without headings in a pipe"],
          ["--json", "the whole response as one JSON document"],
          ["--json=id,status", "only these fields; owner.email for nested ones"],
          ["--fields id,status", "the same for other formats"],
          ["--format table", "a table, in a pipe too"],
          ["--format ndjson", "one JSON document per row"],
          ["--format csv", "RFC 4180 with a header line; values are unchanged in a pipe or file"],
          ["--format tsv", "tab-separated with a heading line; \\t, \\n, \\r and \\\\ escaped"],
        ],
      },
    ],
    notes: [
      "Notes go to standard error in every format. --quiet hides them.",
      "With --json an error prints nothing on standard output, and JSON as the last line on standard error:",
      '{"error":{"code","message","details","hint","requestId","retryable","exitCode","next"}}',
      "A command that checks or sends something, such as svc doctor or svc webhooks trigger, prints its result on standard output even if it exits with another code than 0. That is not an error.",
    ],
  }),
  addresses: () => ({
    tables: [
      {
        title: "Addresses, of which the first that is set applies",
        rows: [
          ["--emulator", "The emulator of this folder, or one in this process"],
          ["--base-url URL", "This address for both services"],
          ["--profile NAME", "Addresses and credentials of this profile, which override the environment"],
          ["SVC_BASE_URL", "With SVC_ROUTER_URL and SVC_CONTRACTS_URL for services with their own addresses"],
          ["SVC_PROFILE", "This profile"],
          ["(none of these)", "The emulator of this folder or of a parent folder"],
          ["svc config use", "The selected profile, if no emulator runs here"],
        ],
      },
    ],
    examples: [
      ["Save a service as a profile", "config set contracts_url https://api.example.com --profile staging"],
      ["Type its secret, which is not shown", "config set client_secret --profile staging"],
      ["Select the profile for later commands", "config use staging"],
      ["Show the settings that commands use here, and their origin", "config list --show-origin"],
    ],
    notes: [
      "The emulator gets its own credentials, from its first workspace or from the workspace of SVC_CLIENT_ID and SVC_CLIENT_SECRET. Other credentials are not sent to it, and a note lists them.",
      "Secrets are never arguments: they come from the environment, a file or a pipe, or are typed.",
      "If commands do not work, run svc doctor.",
    ],
  }),
  bulk: () => ({
    introduction: [
      "A file of identifiers is a job. It is checked, sent in batches, and logged. It can resume where it stopped, even after kill -9.",
    ],
    examples: [
      [
        "A column of a CSV or TSV file; also plain lines and NDJSON, in UTF-8, each gzipped or not",
        "router map-emails people.csv.gz --column email --cluster eu-1",
      ],
      ["Write a plan, then apply it", "router map-emails people.txt --cluster eu-1 --plan-out plan.json"],
      ["Apply the plan", "router map-emails people.txt --apply plan.json"],
      ["One of 16 machines that share an input", "router map-emails people.txt --cluster eu-1 --shard 3/16"],
      ["Resume after Ctrl-C, a crash or a restart", "router jobs resume --last"],
      ["Print the failed rows", "router jobs results --last"],
      [
        "Look up each address afterwards, and write a report",
        "router map-emails people.txt --cluster eu-1 --verify --report report.html",
      ],
      [
        "Record previous clusters, for svc router jobs undo",
        "router map-emails people.txt --cluster eu-1 --results all",
      ],
    ],
    notes: [
      "Exit code 3: some rows were skipped or rejected; the others are done.",
      "An e-mail address is hashed as the SHA-256 of its normalized form (NFC) in lower case. Plus tags and domains in other scripts are hashed unchanged: ada+a@ and ada@ are two addresses, as are a domain and its xn-- form. --hash none sends e-mail identifiers unchanged.",
      "A file in another format stops the job before anything is sent, and the error shows the command that reads it.",
      "Rows of a pipe are sent as they arrive, and must be piped again to resume.",
    ],
  }),
  activities: async () => {
    const { activityGroups } = await import("../../api/activities.ts");
    return {
      tables: Object.entries(activityGroups).map(([title, names]) => ({
        title,
        rows: names.map((name) => [name, ""]),
      })),
      notes: ["To send one, use svc webhooks trigger."],
    };
  },
});
