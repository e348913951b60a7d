import type { Target } from "./command.ts";
import type { Host } from "./host.ts";
export const embeddedTarget = async (
  _host: Host,
  _file: string | undefined,
  _atEnd: (close: () => Promise<void>) => void,
): Promise<Target> => {
  throw new Error("not yet");
};
