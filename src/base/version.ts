/** Version of svc in package.json, which a test compares. Files on disk name this version as their writer. */
export const svcVersion = "0.1.0";
