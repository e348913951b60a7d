import { isOAuthRequest, type Operation } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import type { Dialect } from "./dialect.ts";
import { control, oauth, platform } from "./platform.ts";
import { fastapi } from "./pydantic.ts";

export const dialects: Readonly<Record<Service["dialect"], Dialect>> = { fastapi, platform, control };

/** How what an operation rejects is worded. */
export const dialectOf = ({ service, request: { body } }: Operation): Dialect =>
  isOAuthRequest(body) ? oauth : dialects[service.dialect];
