import { registry } from "../../src/api/registry.ts";
import type { ScriptedFault } from "../faults/faults.ts";
import type { ControlHandlers } from "./world.ts";

export const faultHandlers = {
  "faults.add": ({ body }, { faults, fail }) => {
    const { operation } = body;
    if (operation !== undefined && !registry.some(({ id }) => id === operation)) {
      fail("invalid-control-input", { problems: [`operation: nothing is called ${operation}`] });
    }
    return faultRecord(faults.add(body));
  },

  "faults.list": (_, { faults }) => faults.list().map(faultRecord),

  "faults.remove": ({ params: { id } }, { faults, fail }) => {
    if (!faults.remove(id)) fail("no-such-fault", { id });
    return undefined;
  },
} satisfies ControlHandlers;

const faultRecord = ({ id, rule, matched, hit }: Readonly<ScriptedFault>) => ({ id, ...rule, matched, hit });
