import { activities as allActivities } from "../../../api/activities.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";

/** The source and target of deliveries, for svc webhooks listen and svc dev. */
export const forwardingFlags = [
  {
    flag: "forward-to",
    type: "text",
    placeholder: "URL",
    description: "Forward each delivery to this URL, or to a port of localhost",
  },
  {
    flag: "activities",
    type: "text",
    placeholder: "A,B",
    repeatable: true,
    offered: allActivities,
    description: `Activities to subscribe to (default: all ${allActivities.length})`,
  },
  {
    flag: "header",
    type: "text",
    placeholder: "NAME: VALUE",
    repeatable: true,
    description: "Add a header to forwarded requests",
  },
] as const satisfies readonly FlagSpec[];
