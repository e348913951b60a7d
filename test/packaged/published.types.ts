// Checks that published types match the code. A line fails to compile if a type promises something else.

import type * as emulator from "../../emulator/index.ts";
import type * as publishedEmulator from "../../emulator/published.d.ts";
import type * as client from "../../src/client/index.ts";
import type * as publishedClient from "../../src/client/published.d.ts";
import type * as webhooks from "../../src/schemes/index.ts";
import type * as publishedWebhooks from "../../src/schemes/published.d.ts";

type Fits<_Real extends Published, Published> = true;

export type Webhooks = Fits<typeof webhooks, typeof publishedWebhooks>;
export type Repairs = Fits<typeof emulator.repairState, typeof publishedEmulator.repairState>;
export type Seeds = Fits<typeof emulator.seedSchema, typeof publishedEmulator.seedSchema>;
type Troubles = {
  [Name in keyof typeof emulator]: (typeof emulator)[Name] extends abstract new (
    ...given: never
  ) => infer Trouble
    ? Trouble
    : never;
};
export type Fails = [
  Fits<Troubles["SnapshotNotFoundError"], publishedEmulator.SnapshotNotFoundError>,
  Fits<Troubles["SnapshotExistsError"], publishedEmulator.SnapshotExistsError>,
  Fits<Troubles["InvalidSnapshotError"], publishedEmulator.InvalidSnapshotError>,
  Fits<Troubles["RewindTargetInFutureError"], publishedEmulator.RewindTargetInFutureError>,
  Fits<Troubles["StateLockedError"], publishedEmulator.StateLockedError>,
  Fits<Troubles["StateFormatError"], publishedEmulator.StateFormatError>,
];
export type Starts = Fits<typeof emulator.startEmulator, typeof publishedEmulator.startEmulator>;
export type Clients = Fits<
  (options: publishedClient.ClientOptions) => { close(): Promise<void> },
  (options: Parameters<typeof client.createClient>[0]) => { close(): Promise<void> }
>;
export type Options = Fits<publishedClient.ClientOptions, Parameters<typeof client.createClient>[0]>;
export type Refusals = Fits<InstanceType<typeof client.ServiceError>, publishedClient.ServiceError>;
export type Networks = Fits<InstanceType<typeof client.NetworkError>, publishedClient.NetworkError>;
export type Arguments = Fits<InstanceType<typeof client.InvalidArgumentsError>, publishedClient.InvalidArgumentsError>;

type Named<Module> = Exclude<keyof Module, never>;
export type SameNames = [
  Fits<Named<typeof client>, Named<typeof publishedClient>>,
  Fits<Named<typeof publishedClient>, Named<typeof client>>,
  Fits<Named<typeof webhooks>, Named<typeof publishedWebhooks>>,
  Fits<Named<typeof emulator>, Named<typeof publishedEmulator>>,
  Fits<Named<typeof publishedEmulator>, Named<typeof emulator>>,
];
