import type { Context } from "../command.ts";
import { write } from "../output/write.ts";

const everyMs = { terminal: 200, plain: 10_000 };

/** One line on standard error: on a terminal it is rewritten, elsewhere a new one comes every ten seconds. */
export function progressOf(
  { host, globals }: Context,
  verb: string,
): { add(rows: number): void; end(): Promise<void> } {
  const { stderr, wall, env } = host;
  const isSilent = globals.quiet || globals.json;
  const animates = stderr.isTTY === true && !env.CI;
  const startedAt = wall.now();
  let rows = 0;
  let shownAt = startedAt;
  let isShown = false;

  const line = () => {
    const seconds = Math.max(0.001, (wall.now() - startedAt) / 1_000);
    return `${verb} ${rows.toLocaleString("en")} rows · ${Math.round(rows / seconds).toLocaleString("en")} rows/s`;
  };
  return {
    add(more) {
      rows += more;
      if (isSilent || wall.now() - shownAt < (animates ? everyMs.terminal : everyMs.plain)) return;
      shownAt = wall.now();
      isShown = true;
      void write(stderr, animates ? `\r\x1b[K${line()}` : `${line()}\n`);
    },
    async end() {
      if (isShown && animates) await write(stderr, "\r\x1b[K");
    },
  };
}
