import { lookupTable } from "../../base/lookup-table.ts";
import { environment } from "../config/environment.ts";
import { exitCodes } from "../exit.ts";
import type { HelpPage } from "./layout.ts";

interface Topic {
  readonly summary: string;
  readonly page: () => Promise<Partial<HelpPage>> | Partial<HelpPage>;
}

const streams = "Standard output carries data, standard error everything else: notes, progress, questions, failures.";

/** What `svc help <topic>` shows, beside the help of commands. */
export const topics = lookupTable<Topic>({
  "exit-codes": {
    summary: "What exit codes mean",
    page: () => ({
      tables: [{ title: "Exit codes", rows: exitCodes.map(({ code, meaning }) => [String(code), meaning]) }],
      notes: [
        "svc emulator exec exits with the code of its command; 127 when there is no such program, 126 when it cannot be run.",
      ],
    }),
  },
  environment: {
    summary: "The environment variables that are read",
    page: () => ({
      tables: [{ title: "Environment variables", rows: environment }],
      notes: ["Flags come before the environment, and the environment before the profile: svc help addresses."],
    }),
  },
  formats: {
    summary: "How answers are printed, for people and for programs",
    page: () => ({
      about: [streams],
      tables: [{ title: "Output formats", rows: outputFormats }],
      notes: [
        "Notes for people go to standard error in every format, and not under --quiet.",
        "With --json a failure leaves standard output empty, and the last line on standard error is JSON:",
        '{"error":{"code","message","details","hint","requestId","retryable","exitCode","next"}}',
      ],
    }),
  },
  addresses: {
    summary: "Where a command goes, and with which credentials",
    page: () => ({
      about: ["Of the addresses below the first one that is given says where the services are."],
      tables: [
        {
          title: "Addresses",
          rows: [
            ["--emulator", "The emulator that runs in this folder, else one inside this very process"],
            ["--base-url URL", "This address, for both services"],
            ["--profile NAME", "The addresses and credentials of this profile, before those of the environment"],
            ["SVC_BASE_URL", "With SVC_ROUTER_URL and SVC_CONTRACTS_URL, where a service has an address of its own"],
            ["SVC_PROFILE", "The profile of this name"],
            ["(nothing)", "The emulator that runs in this folder or in one above it"],
            ["svc config use", "The profile that was chosen, where no emulator runs here"],
          ],
        },
      ],
      examples: [
        {
          title: "Keep a service as a profile",
          argv: ["config", "set", "contracts_url", "https://api.example.com", "--profile", "staging"],
        },
        {
          title: "Its secret is typed, and not shown",
          argv: ["config", "set", "client_secret", "--profile", "staging"],
        },
        { title: "Use it from now on", argv: ["config", "use", "staging"] },
        { title: "See what commands would use here, and why", argv: ["config", "list", "--show-origin"] },
      ],
      notes: [
        "The emulator that runs here is called with its own credentials: those of its first workspace, or of the one whose SVC_CLIENT_ID and SVC_CLIENT_SECRET are set. Others are not sent to it, and that is said.",
        "Secrets are never words of a command line: they come from the environment, from a file, from a pipe, or are typed.",
        "When commands do not work, svc doctor says why.",
      ],
    }),
  },
  bulk: {
    summary: "Mapping, unmapping and offboarding millions of rows",
    page: () => ({
      about: [
        "A file of identifiers is a job: read as a stream, checked before anything is sent, sent in batches, and logged, so that it goes on where it stopped, even after kill -9.",
      ],
      examples: [
        {
          title: "A column of a CSV or TSV file; also plain lines and NDJSON, in UTF-8, each gzipped or not",
          argv: ["router", "map-emails", "people.csv.gz", "--column", "email", "--cluster", "eu-1"],
        },
        {
          title: "Say what would be done, then do exactly that",
          argv: ["router", "map-emails", "people.txt", "--cluster", "eu-1", "--plan-out", "plan.json"],
        },
        { title: "The second half of that", argv: ["router", "map-emails", "people.txt", "--apply", "plan.json"] },
        {
          title: "One of 16 machines that share an input",
          argv: ["router", "map-emails", "people.txt", "--cluster", "eu-1", "--shard", "3/16"],
        },
        { title: "Go on after Ctrl-C, a crash or a restart", argv: ["router", "jobs", "resume", "--last"] },
        { title: "Which rows went wrong", argv: ["router", "jobs", "results", "--last"] },
        {
          title: "Look up each address afterwards, and write a page of what came of it",
          argv: ["router", "map-emails", "people.txt", "--cluster", "eu-1", "--verify", "--report", "report.html"],
        },
        {
          title: "Record which cluster had each address before, so that svc router jobs undo can map it back",
          argv: ["router", "map-emails", "people.txt", "--cluster", "eu-1", "--results", "all"],
        },
      ],
      notes: [
        "Exit 3 means that some rows were left out or refused; the rest is done.",
        "An e-mail address is hashed as the SHA-256 of its normalized form (NFC) in lower case. Plus tags and domains in other scripts are hashed as they are written: ada+a@ and ada@ are two addresses, and so are a domain and its xn-- form. --hash none sends e-mail identifiers as they are.",
        "A file that looks like another format stops before anything is sent, with the command that reads it.",
        "Rows of a pipe, with a name or without, are sent as they come, and piped again to go on.",
      ],
    }),
  },
  activities: {
    summary: "What webhooks tell of",
    page: async () => {
      const { activityGroups } = await import("../../api/activities.ts");
      return {
        tables: Object.entries(activityGroups).map(([title, names]) => ({
          title,
          rows: names.map((name) => [name, ""]),
        })),
        notes: ["What causes each of them stands in the reference; svc webhooks trigger tells of any by hand."],
      };
    },
  },
});

/** How answers are printed, by flag. */
export const outputFormats: readonly (readonly [flag: string, printed: string])[] = [
  ["(default)", "a table on a terminal, tab-separated rows without headings in a pipe"],
  ["--json", "the whole answer as one JSON document"],
  ["--json=id,status", "these fields only; owner.email reaches deeper"],
  ["--fields id,status", "the same choice for the other formats"],
  ["--format table", "a table, in a pipe too"],
  ["--format ndjson", "one JSON document per row"],
  ["--format csv", "RFC 4180 with a heading line; in a pipe or file values stay as they are, control characters too"],
  ["--format tsv", "tab-separated with a heading line; \\t, \\n, \\r and \\\\ escaped"],
];

export const topicPage = async ({ page }: Topic): Promise<HelpPage> => ({
  about: [],
  examples: [],
  tables: [],
  notes: [],
  ...(await page()),
});
