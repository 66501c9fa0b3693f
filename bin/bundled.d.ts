export const bundleFolder: string
export function bundled (program: string): string | null
export function digestOf (inputs: readonly string[]): string
export function stampOf (inputs: readonly string[]): string
