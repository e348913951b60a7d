import { register } from "node:module";
import { pathToFileURL } from "node:url";
import { program } from "../support/program.ts";

const replacement = pathToFileURL(program("typescript-five")).href;
const hooks = `
  export const resolve = (name, context, next) =>
    name === "typescript" && context.parentURL?.includes("/openapi-typescript/")
      ? next(${JSON.stringify(replacement)}, context)
      : next(name, context);
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
const { default: openapiTypescript, astToString } = await import("openapi-typescript");

/**
 * The types that openapi-typescript makes of an OpenAPI document. What has a default may be left out of a request; the
 * generator takes it for given in both directions unless it is told.
 */
export const typesOf = async (url: string): Promise<string> =>
  astToString(await openapiTypescript(new URL(url), { defaultNonNullable: false }));
