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
type ErrorInstances = {
  [Name in keyof typeof emulator]: (typeof emulator)[Name] extends abstract new (
    ...given: never
  ) => infer Trouble
    ? Trouble
    : never;
};
export type Fails = [
  Fits<ErrorInstances["SnapshotNotFoundError"], publishedEmulator.SnapshotNotFoundError>,
  Fits<ErrorInstances["SnapshotExistsError"], publishedEmulator.SnapshotExistsError>,
  Fits<ErrorInstances["InvalidSnapshotError"], publishedEmulator.InvalidSnapshotError>,
  Fits<ErrorInstances["RewindTargetInFutureError"], publishedEmulator.RewindTargetInFutureError>,
  Fits<ErrorInstances["StateLockedError"], publishedEmulator.StateLockedError>,
  Fits<ErrorInstances["StateFormatError"], publishedEmulator.StateFormatError>,
];
export type Starts = Fits<typeof emulator.startEmulator, typeof publishedEmulator.startEmulator>;
export type Clients = Fits<
  (options: publishedClient.ClientOptions) => { close(): Promise<void> },
  (options: Parameters<typeof client.createClient>[0]) => { close(): Promise<void> }
>;
export type Options = Fits<publishedClient.ClientOptions, Parameters<typeof client.createClient>[0]>;
export type ServiceErrorCheck = Fits<InstanceType<typeof client.ServiceError>, publishedClient.ServiceError>;
export type Networks = Fits<InstanceType<typeof client.NetworkError>, publishedClient.NetworkError>;
export type Arguments = Fits<InstanceType<typeof client.InvalidArgumentsError>, publishedClient.InvalidArgumentsError>;

type NamedExport<Module> = Exclude<keyof Module, never>;
export type SameNames = [
  Fits<NamedExport<typeof client>, NamedExport<typeof publishedClient>>,
  Fits<NamedExport<typeof publishedClient>, NamedExport<typeof client>>,
  Fits<NamedExport<typeof webhooks>, NamedExport<typeof publishedWebhooks>>,
  Fits<NamedExport<typeof emulator>, NamedExport<typeof publishedEmulator>>,
  Fits<NamedExport<typeof publishedEmulator>, NamedExport<typeof emulator>>,
];
