const [v1, v21] = ["/api/v1/public", "/api/v2.1/public"];
const contract = `${v21}/contracts/{contract_id}`;

/** A public route of the service that cannot be built: what it is about, and what of it nobody has published. */
interface NotEmulated {
  /** `*`: whatever follows. Undefined where the path is not public either. */
  readonly path?: string;
  readonly about: string;
  readonly missing: string;
}

/**
 * The emulator answers these 501: 404 would say that the service does not have them (DECISIONS.md, F23). Of two that fit
 * the first counts.
 */
export const unemulatedRoutes = [
  {
    path: `${contract}/related_contracts/`,
    about: "the contracts that hang on one another",
    missing: "how the answer tells another contract and its relation",
  },
  {
    path: `${contract}/authorized_users/`,
    about: "who may see a contract",
    missing: "the method, and how the answer tells people and what they may do",
  },
  {
    path: `${contract}/uninvite/`,
    about: "letting somebody see it no longer",
    missing: "the method, and by what the body names the person",
  },
  {
    path: `${contract}/uninvite_all/`,
    about: "letting nobody else see it",
    missing: "the method, the body, and who is left",
  },
  {
    path: `${contract}/obligations/*`,
    about: "obligations of a contract",
    missing: "the paths below, and the fields of an obligation; public are four statuses alone",
  },
  {
    path: `${contract}/tasks/bulk/`,
    about: "tasks about a contract",
    missing: "the method, the body, and whether it makes tasks or changes them",
  },
  {
    path: `${v21}/contracts/{composite_id}/content/scanned`,
    about: "the text of scanned pages",
    missing: "the method and the answer",
  },
  {
    path: `${v21}/contract_types/{contract_type_id}/access_control`,
    about: "who may use a contract type",
    missing: "the method, and how the answer tells people, roles and permissions",
  },
  {
    path: `${v21}/key_pointers/field-name-mapping/`,
    about: "other names of key pointers",
    missing: "the method, and how the answer tells which name stands for which",
  },
  {
    path: `${v21}/auth/roles/{role_id}/members`,
    about: "who has a role",
    missing: "the method, and whether the answer tells members as auth/users/ does",
  },
  {
    path: `${v21}/auth/*`,
    about: "roles and users, beyond the two lists",
    missing: "which paths there are, and their bodies",
  },
  {
    path: `${v21}/facets/options/{field}/`,
    about: "the values that a list can be filtered by",
    missing: "the fields that it takes, and the answer",
  },
  { path: `${v21}/facets/`, about: "what lists can be filtered by", missing: "the answer" },
  {
    path: `${v21}/feature-flags/`,
    about: "what a workspace has switched on",
    missing: "the query and the answer; public is the shape of its refusal alone",
  },
  {
    path: `${v21}/sidebar/*`,
    about: "the assistant beside a document",
    missing: "the paths below, the body of a question, and the answer; public are its statuses alone",
  },
  {
    path: `${v1}/users/*`,
    about: "making and changing users",
    missing: "the fields of a request, and whether its rows are those of auth/users/",
  },
  {
    path: `${v1}/view-email/*`,
    about: "the e-mails of a contract",
    missing: "the paths below, the method and the answer",
  },
  { path: `${v1}/obligations/types/`, about: "kinds of obligations", missing: "the fields of a kind" },
] as const satisfies readonly NotEmulated[];

/** What the service has as well, at paths that nobody has published: a request for one cannot be told from a mistake. */
export const unemulatedFeatures = [
  {
    about: "clickwrap: to agree by a click, and to ask whether somebody has",
    missing: "the paths, and all bodies; public are the names of three steps and its own two headers",
  },
  {
    about: "analytics: questions in SQL",
    missing: "the path, the name of the field with the question, and how rows are told; public are limits and refusals",
  },
  { about: "tags of a workspace", missing: "the path, and the answer; public is how long a name and a colour may be" },
  { about: "an integration for procurement, with HTTP basic", missing: "the paths and the bodies" },
  { about: "templates in version 1", missing: "the paths, and what differs from version 2.1" },
] as const satisfies readonly NotEmulated[];

/** The route of a path that the service has and the emulator has not; undefined for any other path. */
export function findUnemulatedRoute(path: string): NotEmulated | undefined {
  const given = path.split("/");
  // The slash at the end may be left out.
  if (given.at(-1) === "") given.pop();
  return routes.find(({ names, isPrefix }) => {
    const isLong = isPrefix ? given.length >= names.length : given.length === names.length;
    return isLong && names.every((name, i) => (name.startsWith("{") ? given[i] !== "" : given[i] === name));
  })?.route;
}

const routes = unemulatedRoutes.map((route) => ({
  route,
  names: route.path.replace(/\/\*?$/, "").split("/"),
  isPrefix: route.path.endsWith("*"),
}));
