import { effect, signal } from '@preact/signals'

const themes = ['system', 'light', 'dark'] as const
export type Theme = typeof themes[number]

const stored = localStorage.getItem('theme')

/** Light, dark, or as the system has it; kept in this browser. */
export const theme = signal<Theme>(themes.find(name => name === stored) ?? 'system')

/** Applies the theme to the page, now and after each change. */
export function startTheme (): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value
    localStorage.setItem('theme', theme.value)
  })
}

/** Goes to the next theme: system, light, dark. */
export function nextTheme (): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system'
}
