import { activityGroups } from "../../api/activities.ts";
import { unemulatedFeatures, unemulatedRoutes } from "../../api/contracts/unemulated-routes.ts";
import type { Failure } from "../../api/failure.ts";
import { failures } from "../../api/failures.ts";
import type { Operation } from "../../api/operation.ts";
import { findObservedFailure, type ObservedClaims } from "../observed.ts";
import { basisWords } from "./basis.ts";
import { blocks, code, codes, renderMarkdownTable } from "./markdown.ts";

/** Every declared failure once, by code. */
export const failureSection = (observed: ObservedClaims): string =>
  blocks(
    "## Failures",
    renderMarkdownTable(
      ["Code", "Status", "Form", "When", "Known from"],
      Object.entries(failures as Readonly<Record<string, Failure<unknown>>>)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { status, shape, when, basis }]) => [
          code(name),
          String(status),
          shape,
          when,
          basisWords(basis, findObservedFailure(observed, name)),
        ]),
    ),
  );

/** The public routes that are known by name alone, with what is missing to build each. */
export const renderUnemulatedSection = (): string =>
  blocks(
    "## Public routes that are not emulated",
    "The service has these routes, but their description is not public. The emulator responds 501 and names the missing facts, unless the seed scripts a response (`apps.answers`).",
    renderMarkdownTable(
      ["Route", "About", "Missing facts"],
      unemulatedRoutes.map(({ path, about, missing }) => [code(path), about, missing]),
    ),
    "The paths of these routes are not public. Requests for them get 404, like any unknown path:",
    renderMarkdownTable(
      ["About", "Missing facts"],
      unemulatedFeatures.map(({ about, missing }) => [about, missing]),
    ),
  );

/** Every activity with the operations that cause it. */
export const activitySection = (registry: readonly Operation[]): string =>
  blocks(
    "## Activities",
    "Send a test webhook for any of them with `svc webhooks trigger`.",
    ...Object.entries(activityGroups).flatMap(([group, activities]) => [
      `### ${group}`,
      renderMarkdownTable(
        ["Activity", "Caused by"],
        activities.map((activity) => [
          code(activity),
          codes(registry.filter(({ emits }) => emits?.includes(activity)).map(({ id }) => id)),
        ]),
      ),
    ]),
  );
