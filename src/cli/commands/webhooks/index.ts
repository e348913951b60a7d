import type { Command } from "../../command.ts";
import { webhooksCertify } from "./certify.ts";
import { webhooksDeliveries } from "./deliveries.ts";
import { webhooksExplain } from "./explain.ts";
import { webhooksListen } from "./listen.ts";
import { webhooksReplay } from "./replay.ts";
import { webhooksSchedule } from "./schedule.ts";
import { webhooksCreate, webhooksList } from "./subscriptions.ts";
import { webhooksTrigger } from "./trigger.ts";
import { webhooksSign, webhooksVerify } from "./verify.ts";
import { webhooksWhy } from "./why.ts";

export const commands: readonly Command[] = [
  webhooksListen,
  webhooksCreate,
  webhooksList,
  webhooksTrigger,
  webhooksReplay,
  webhooksWhy,
  webhooksDeliveries,
  webhooksSchedule,
  webhooksVerify,
  webhooksSign,
  webhooksExplain,
  webhooksCertify,
];
