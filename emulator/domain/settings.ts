import type { StrictCheck } from "../../src/api/control-plane.ts";
import { emulatorOptions, type OptionDeclaration, type SettingName } from "../../src/derive/emulator-options.ts";
import type { ReceiverRules } from "../http/outgoing/receiver-rules.ts";
import type { EmulatorOptions } from "../published.d.ts";

/** Options of one emulator with their values, which do not change after the start. */
export interface EmulatorSettings extends Required<Pick<EmulatorOptions, SettingName>> {
  readonly strict: ReadonlySet<StrictCheck>;
  readonly autoSignMs: number | undefined;
}

export const getReceiverRules = ({ webhookAllow, strict }: EmulatorSettings): ReceiverRules => ({
  allow: webhookAllow,
  strict: strict.has("receivers"),
});

export const defaultSettings: EmulatorSettings = {
  ...(Object.fromEntries(
    Object.entries<OptionDeclaration>(emulatorOptions).flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, value]],
    ),
  ) as Pick<EmulatorSettings, SettingName>),
  strict: new Set(),
  autoSignMs: undefined,
};
