import type { Liveness, Readiness } from "../../src/api/emulator/lifecycle.ts";
import type { WallClock } from "../../src/base/clock.ts";
import type { Observer } from "../../src/verify/observed/apply.ts";
import type { Counters } from "../control/metrics/counters.ts";
import type { CausePropagator } from "../http/outgoing/cause-propagator.ts";
import type { RequestLog } from "../http/request-log/request-log.ts";
import type { EmulatorOptions } from "../published.d.ts";
import type { MakeCauseRow } from "../store/causes.ts";
import type { ClaimedRunFile } from "../store/file/run-file.ts";
import type { DeliveryNotifier } from "../webhooks/delivery-notifier.ts";
import type { Settings } from "../world/settings.ts";
import type { Listeners } from "./listeners.ts";
import type { HotStandby } from "./standby.ts";
import type { Seed } from "./state/seed.ts";

/** Resources of a process from its start to its end, whether it leads or not. */
export interface ProcessContext {
  readonly options: EmulatorOptions;
  readonly seed: Seed;
  readonly wall: WallClock;
  /** Description of this process, whether it leads or not. */
  readonly aboutItself: Readiness;
  readonly process: NonNullable<Liveness["process"]>;
  /** Real path of the state. */
  readonly file: string | undefined;
  /** The router's address, as it is bound. */
  readonly routerUrl: string;
  readonly settings: Settings;
  readonly requestLog: RequestLog;
  readonly deliveries: DeliveryNotifier;
  readonly counters: Counters;
  readonly causeRow: MakeCauseRow;
  readonly links: CausePropagator;
  readonly listeners: Listeners;
  /** Undefined: the state is not shared. */
  readonly standby: HotStandby | undefined;
  readonly runFile: ClaimedRunFile;
  /** Aborted: nothing is waited for any more. */
  /** Undefined: everything is as it is declared. */
  readonly observer: Observer | undefined;
  readonly closeSignal: AbortSignal;
  readonly log: (line: string) => void;
  /** Ends the process's part in it, once the response under way is sent. */
  readonly stop: () => void;
}
