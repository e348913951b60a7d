import { defineCommand } from "../../command.ts";
import { UsageError } from "../../failure.ts";
import { findBrowserCommand, isWebAddress, openBrowser } from "../../terminal/browser.ts";

export const emulatorOpen = defineCommand({
  words: ["emulator", "open"],
  summary: "Open the console of the running emulator in the browser",
  description:
    "The console shows virtual time, webhooks and contracts, and has buttons to change them. The address signs in one browser, once, within a minute. Without a browser, the address is printed.",
  positionals: [],
  flags: [
    { flag: "url", type: "switch", description: "Print the address without opening it" },
    { flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" },
  ],
  examples: [
    { title: "The console of this folder's emulator", argv: ["emulator", "open"] },
    { title: "For a browser on another machine, behind a tunnel", argv: ["emulator", "open", "--url"] },
  ],
  async run({ flags }, context) {
    const { host, globals, output, signal } = context;
    if (globals.emulator) throw new UsageError("--emulator cannot be used here: that emulator ends with this command");
    const { makeSessionCode } = await import("../../../api/emulator/console/sessions.ts");
    const client = await context.client("emulator", { file: flags.file });
    const { code, url: told, expires_in } = await client.call(makeSessionCode, {}, { signal });
    const { baseUrls } = await context.target("emulator", flags.file);
    // What answers may say anything: the browser goes where was asked, and nowhere else.
    const own = `${baseUrls.emulator}/_emulator/ui/#code=${encodeURIComponent(code)}`;
    const url = isWebAddress(told) ? told : own;
    const browser = flags.url ? undefined : findBrowserCommand(host);
    const why = browser ? await openBrowser(browser, own, host) : "No browser found";
    const opened = why === undefined && !flags.url;
    if (output.format !== "table") await output.show({ opened, url, expires_in });
    else if (opened) await output.note(`Opened ${own.replace(/#.*/, "")} in the browser`);
    else await output.print(url);
    if (!opened && !flags.url) await output.warn(`${why}. Open this address yourself within ${expires_in} seconds.`);
    return undefined;
  },
});
