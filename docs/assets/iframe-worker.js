// Browsers start no worker for a page that is read from the disk, but the search needs one. In this
// case it runs in a hidden frame instead, which looks like a worker from both sides.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const scope = frame.contentWindow
      const load = source =>
        new Promise((resolve, reject) => {
          const script = scope.document.createElement("script")
          script.src = source
          script.onload = resolve
          script.onerror = reject
          scope.document.head.append(script)
        })
      scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      scope.importScripts = (...sources) => Promise.all(sources.map(load))
      const loaded = load(url)
      this.postMessage = data =>
        loaded.then(() => scope.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
