import type { Liveness, Readiness } from "../../src/api/emulator/lifecycle.ts";
import type { WallClock } from "../../src/base/clock.ts";
import type { ObservationApplier } from "../../src/verify/observed/apply.ts";
import type { MetricCounters } from "../control/metrics/counters.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import type { CausePropagator } from "../http/outgoing/forward.ts";
import type { RequestLog } from "../http/request-log/request-log.ts";
import type { EmulatorOptions } from "../published.d.ts";
import type { CauseRowFactory } from "../store/causes.ts";
import type { ClaimedRunFile } from "../store/file/run-file.ts";
import type { DeliveryNotifier } from "../webhooks/record.ts";
import type { Listeners } from "./listeners.ts";
import type { HotStandby } from "./standby.ts";
import type { Seed } from "./state/seed.ts";

/** Resources that a process has from start to end, whether it leads or not. */
export interface ProcessContext {
  readonly options: EmulatorOptions;
  readonly seed: Seed;
  readonly wall: WallClock;
  readonly readiness: Readiness;
  readonly process: NonNullable<Liveness["process"]>;
  readonly file: string | undefined;
  /** The router's address after it is bound. */
  readonly routerUrl: string;
  readonly settings: EmulatorSettings;
  readonly requestLog: RequestLog;
  readonly deliveries: DeliveryNotifier;
  readonly counters: MetricCounters;
  readonly createCauseRow: CauseRowFactory;
  readonly links: CausePropagator;
  readonly listeners: Listeners;
  /** Undefined if the state is not shared. */
  readonly standby: HotStandby | undefined;
  readonly runFile: ClaimedRunFile;
  /** Undefined to use the declared behavior. */
  readonly observer: ObservationApplier | undefined;
  /** Token of the control plane if the state has none yet. */
  readonly token: string;
  /** When it aborts, the process no longer waits to lead. */
  readonly abortSignal: AbortSignal;
  /** When it aborts, pending work is no longer awaited. */
  readonly closeSignal: AbortSignal;
  readonly log: (line: string) => void;
  /** Stops the emulator after the pending response is sent. */
  readonly stop: () => void;
}
