const [v1, v21] = ["/api/v1/public", "/api/v2.1/public"];
const contract = `${v21}/contracts/{contract_id}`;

/**
 * Public routes of the service, their subjects and their undocumented parts. The emulator responds with 501, because
 * 404 would claim that the service does not have them (DECISIONS.md, F23). `*` matches any remaining segments. The
 * first match applies.
 */
export const unemulatedRoutes = [
  {
    path: `${contract}/related_contracts/`,
    subject: "contracts that are related to each other",
    missing: "how the response represents another contract and its relation",
  },
  {
    path: `${contract}/authorized_users/`,
    subject: "people with access to a contract",
    missing: "the method, and how the response represents people and permissions",
  },
  {
    path: `${contract}/uninvite/`,
    subject: "revoking a person's access",
    missing: "the method, and how the body identifies the person",
  },
  {
    path: `${contract}/uninvite_all/`,
    subject: "restricting access to the owner",
    missing: "the method, the body, and who retains access",
  },
  {
    path: `${contract}/obligations/*`,
    subject: "obligations of a contract",
    missing: "the paths below, and the fields of an obligation; only four statuses are public",
  },
  {
    path: `${contract}/tasks/bulk/`,
    subject: "tasks about a contract",
    missing: "the method, the body, and whether it creates or changes tasks",
  },
  {
    path: `${v21}/contracts/{composite_id}/content/scanned`,
    subject: "the text of scanned pages",
    missing: "the method and the response",
  },
  {
    path: `${v21}/contract_types/{contract_type_id}/access_control`,
    subject: "people with access to a contract type",
    missing: "the method, and how the response represents people, roles and permissions",
  },
  {
    path: `${v21}/key_pointers/field-name-mapping/`,
    subject: "aliases of key pointers",
    missing: "the method, and how the response maps names to key pointers",
  },
  {
    path: `${v21}/auth/roles/{role_id}/members`,
    subject: "members of a role",
    missing: "the method, and whether the response represents members as auth/users/ does",
  },
  {
    path: `${v21}/auth/*`,
    subject: "roles and users, other than the two lists",
    missing: "the paths and their bodies",
  },
  {
    path: `${v21}/facets/options/{field}/`,
    subject: "possible values of list filters",
    missing: "the accepted fields and the response",
  },
  { path: `${v21}/facets/`, subject: "available list filters", missing: "the response" },
  {
    path: `${v21}/feature-flags/`,
    subject: "enabled features of a workspace",
    missing: "the query and the response; only the shape of its error is public",
  },
  {
    path: `${v21}/sidebar/*`,
    subject: "the assistant next to a document",
    missing: "the paths below, the body of a question, and the response; only its statuses are public",
  },
  {
    path: `${v1}/users/*`,
    subject: "creating and changing users",
    missing: "the fields of a request, and whether its rows are those of auth/users/",
  },
  {
    path: `${v1}/view-email/*`,
    subject: "the e-mails of a contract",
    missing: "the paths below, the method and the response",
  },
  { path: `${v1}/obligations/types/`, subject: "kinds of obligations", missing: "the fields of an obligation type" },
] as const;

/**
 * Other features of the service, at undocumented paths. A request for one of them cannot be distinguished from a
 * mistake.
 */
export const unemulatedFeatures = [
  {
    subject: "clickwrap: recording and looking up consent",
    missing: "the paths and all bodies; only the names of three steps and two headers are public",
  },
  {
    subject: "analytics: questions in SQL",
    missing:
      "the path, the name of the field with the question, and how rows are represented; limits and errors are public",
  },
  {
    subject: "tags of a workspace",
    missing: "the path and the response; only the maximum lengths of name and colour are public",
  },
  { subject: "an integration for procurement, with HTTP basic", missing: "the paths and the bodies" },
  { subject: "templates in version 1", missing: "the paths, and the differences from version 2.1" },
] as const;

/** Returns the unemulated route of a path, or undefined if the emulator or no service has the path. */
export function findUnemulatedRoute(path: string) {
  const segments = path.split("/");
  // The trailing slash is optional.
  if (segments.at(-1) === "") segments.pop();
  return unemulatedRoutes.find((route) => {
    const names = route.path.replace(/\/\*?$/, "").split("/");
    const isLong = route.path.endsWith("*") ? segments.length >= names.length : segments.length === names.length;
    return isLong && names.every((name, i) => (name.startsWith("{") ? segments[i] !== "" : segments[i] === name));
  });
}
