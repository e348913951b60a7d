import { registry } from "../../src/api/registry.ts";
import type { ScriptedFault } from "../faults/faults.ts";
import type { ControlHandlers } from "./context.ts";

export const faultHandlers = {
  "faults.add": ({ body }, { faults, request, fail }) => {
    const { operation } = body;
    if (operation !== undefined && !registry.some(({ id }) => id === operation)) {
      fail("invalid-control-input", { problems: [`operation: ${operation} not found`] });
    }
    // The result is checked immediately, because the fault would delay the request itself.
    const row = request.cause.createRow?.(undefined);
    return toFaultRecord(faults.add(body, row && { id: row.id, createRow: () => row }));
  },

  "faults.list": (_, { faults }) => faults.list().map(toFaultRecord),

  "faults.remove": ({ params: { id } }, { faults, fail }) => {
    if (!faults.remove(id)) fail("no-such-fault", { id });
    return undefined;
  },
} satisfies ControlHandlers;

export const toFaultRecord = ({ id, rule, matched, hit }: Readonly<ScriptedFault>) => ({ id, ...rule, matched, hit });
