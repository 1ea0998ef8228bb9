// uPlot formats numbers in the browser's language when it is loaded, and fails if that is not a valid one, such as `en-US@posix` of a browser without a locale.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}
