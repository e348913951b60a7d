export const languages = ["node", "python", "go", "java", "csharp"] as const;
export type Language = (typeof languages)[number];

const programs: readonly (readonly [Language, RegExp])[] = [
  ["node", /(^|[\s/&;])(node|npm|npx|pnpm|yarn|tsx|ts-node|bun|deno)(\s|$)|\.[cm]?[jt]s(\s|$)/],
  ["python", /(^|[\s/&;])(python[\d.]*|pipenv|poetry|uv|uvicorn|gunicorn|hypercorn|flask|fastapi)(\s|$)|\.py(\s|$)/],
  ["java", /(^|[\s/&;])(java|mvn|mvnw|gradle|gradlew)(\s|$)|\.(jar|java)(\s|$)/],
  ["csharp", /(^|[\s/&;])dotnet(\s|$)|\.(csproj|dll)(\s|$)/],
  ["go", /(^|[\s/&;])(go|air)(\s|$)|\.go(\s|$)/],
];

/** Guesses the language of a receiver from its command. Returns undefined if the command does not show it. */
export const guessLanguage = (command: string): Language | undefined =>
  programs.find(([, pattern]) => pattern.test(command))?.[0];
