// A page that is opened from a disk may start no worker, and the search of the site is one: it runs in a frame instead.
// The theme asks for this by the name IFrameWorker, and would fetch one from elsewhere if there were none here.
(() => {
  if (location.protocol !== "file:") return;

  /** Prepares the frame: what a worker calls its own, and how it loads more. */
  const PRELUDE = `<script>
    postMessage = data => parent.postMessage({ frameWorker: data }, "*");
    importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise(done => {
      const script = document.createElement("script");
      script.onload = script.onerror = done;
      script.src = url;
      document.body.append(script);
    })), Promise.resolve());
  <\/script>`;

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.ready = new Promise((done) => {
        this.frame.addEventListener("load", done, { once: true });
      });
      const page = this.frame.contentDocument;
      page.open();
      page.write(`<!doctype html><body>${PRELUDE}<script src="${encodeURI(decodeURI(url))}"><\/script>`);
      page.close();
      addEventListener("message", ({ source, data }) => {
        if (source === this.frame.contentWindow && data && "frameWorker" in data)
          this.dispatchEvent(new MessageEvent("message", { data: data.frameWorker }));
      });
    }

    /** Hands a message over once the script is there. */
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.IFrameWorker = window.Worker = IFrameWorker;
})();
