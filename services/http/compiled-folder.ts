/**
 * The folder of the validators and serializers compiled ahead of time; null when running from the sources.
 * bin/bundle.ts gives the bundle a version of this module with its own folder.
 */
export const compiledFolder: string | null = null
