import type { Host } from "../host.ts";

/**
 * Whether what is printed ends in the log of a runner that obeys some of its lines: GitHub Actions and those that work
 * alike, Azure Pipelines, TeamCity. Each sets a variable of its own.
 */
export const runnerParsesOutput = ({ GITHUB_ACTIONS, TF_BUILD, TEAMCITY_VERSION }: Host["env"]): boolean =>
  GITHUB_ACTIONS === "true" || /^true$/i.test(TF_BUILD ?? "") || Boolean(TEAMCITY_VERSION);
