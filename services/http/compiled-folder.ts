/**
 * The folder of the validators and serializers that were compiled ahead of time; null when the sources run.
 * bin/bundle.ts gives the bundle a version of this module with its own folder.
 */
export const compiledFolder: string | null = null
