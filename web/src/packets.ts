// Packets at the bottleneck, one by one: arriving, waiting, being sent, dropped or marked, each with the decision
// of the algorithm in words. A scene is some time of a run; the next one is loaded before it ends.

import { download } from "./download";
import type { Engine } from "./engine";
import { button, element } from "./form";
import { planOf, rateOf } from "./plan";
import type { Data, Flying, PacketEvent, Scene, State } from "./types";

const ENQUEUE = 0, DEQUEUE = 1, DROP = 2;
/** Times the pace of real time. */
const PACES: [string, number][] = [["real time", 1], ["10 × slower", 0.1], ["100 × slower", 0.01], ["1000 × slower", 0.001]];
/** Where packets are drawn: the way to the queue, its tail and head, the end of the link. */
const [WAY, TAIL, HEAD, END] = [30, 200, 700, 870];
const [TOP, TALL] = [30, 46];
const FLOWS = ["#c4572b", "#0b7a8c", "#7b3fb5", "#5c7a00", "#b8860b", "#2f6fbf", "#a83264", "#3c8c5a", "#8a5a3c", "#6b7280"];
/** Decisions that stay on the page. */
const KEPT = 5;

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Packets {
  private scene: Scene | null = null;
  private next: Promise<Scene> | null = null;
  /** Events of the scene that have happened. */
  private done = 0;
  /** Virtual time, s. */
  private now: number;
  private waiting: Flying[] = [];
  private sending: (Flying & { start: number }) | null = null;
  private playing = false;
  private pace = 0.01;
  private which = 0;
  private state: State;
  private loads = 0;

  private readonly details: HTMLDetailsElement;
  private readonly svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  private readonly play = button("Play", () => this.toggle());
  private readonly choice = element("select") as HTMLSelectElement;
  private readonly from = element("input") as HTMLInputElement;
  private readonly clock = element("output");
  private readonly decision = element("p", "decision");
  private readonly log = element("ol", "decisions");
  private readonly legend = element("p", "doc");

  constructor(
    root: HTMLElement,
    private readonly data: Data,
    private readonly engine: Engine,
    state: State,
  ) {
    this.state = state;
    const seconds = (key: string): number => Number(data.plan[key]) * 1e-9;
    this.now = seconds("warmup");
    this.details = element("details") as HTMLDetailsElement;
    this.details.append(element("summary", "", "Packets at the bottleneck, one by one (seed 1)"));
    Object.assign(this.from, { type: "range", min: "0", max: String(seconds("duration")), step: "any", value: String(this.now) });
    this.from.setAttribute("aria-label", "Time of the run");
    this.from.addEventListener("change", () => void this.load(Number(this.from.value)));
    this.choice.setAttribute("aria-label", "Algorithm");
    this.choice.addEventListener("change", () => {
      this.which = this.choice.selectedIndex;
      void this.load(this.now);
    });
    const pace = element("select") as HTMLSelectElement;
    pace.setAttribute("aria-label", "Pace of the packets");
    for (const [name, value] of PACES) pace.append(new Option(name, String(value), value === this.pace, value === this.pace));
    pace.addEventListener("change", () => (this.pace = Number(pace.value)));
    const bar = element("div", "bar");
    bar.append(
      this.choice, this.play, pace,
      button("Step back", () => this.step(-1)),
      button("Step", () => this.step(1)),
      button("Next drop or mark", () => void this.seek()),
      this.from, this.clock,
      button("SVG", () => download("packets.svg", this.file(), "image/svg+xml"), "quiet"),
      button("PNG", () => void this.picture(), "quiet"),
    );
    const stage = element("div", "stage");
    stage.tabIndex = 0;
    stage.setAttribute("role", "group");
    stage.setAttribute("aria-label", "Packets at the bottleneck. Space: play or pause; arrow keys: steps; D: next drop or mark");
    stage.addEventListener("keydown", (event) => this.key(event));
    this.svg.setAttribute("viewBox", `0 0 900 ${TOP + TALL + 70}`);
    this.svg.setAttribute("aria-hidden", "true");
    stage.append(this.svg);
    this.decision.setAttribute("aria-live", "polite");
    const keys = element("p", "doc", "Keys in the picture: space plays or pauses, the arrow keys step, D goes to the next drop or mark.");
    this.details.append(bar, stage, this.decision, this.log, this.legend, keys);
    root.append(this.details);
    this.details.addEventListener("toggle", () => {
      if (this.details.open && !this.scene) void this.load(this.now);
      if (!this.details.open) this.pause();
    });
    const motion = (): void => {
      this.play.hidden = pace.hidden = still.matches;
      if (still.matches) this.pause();
    };
    still.addEventListener("change", motion);
    motion();
    this.choices();
  }

  /** The state of the page has changed. */
  show(state: State): void {
    this.state = state;
    this.which = Math.min(this.which, state.specs.length - 1);
    this.choices();
    this.scene = null;
    if (this.details.open) void this.load(this.now);
  }

  private choices(): void {
    this.choice.replaceChildren(...this.state.specs.map((spec) => new Option(spec)));
    this.choice.selectedIndex = this.which;
    this.choice.hidden = this.state.specs.length < 2;
  }

  private ask(from: number): Promise<Scene> {
    const plan = planOf(this.data, this.state, this.state.specs[this.which]!);
    return this.engine.packets(plan, 1, Math.round(from * 1e9), this.pace === 1 ? 12000 : 3000);
  }

  private async load(from: number): Promise<void> {
    const mine = ++this.loads;
    this.next = null;
    this.details.dataset["loading"] = "yes";
    try {
      const scene = await this.ask(from);
      if (mine === this.loads) this.enter(scene);
    } catch (error) {
      if (mine !== this.loads) return;
      this.pause();
      this.decision.textContent = (error as Error).message;
    } finally {
      if (mine === this.loads) delete this.details.dataset["loading"];
    }
  }

  private enter(scene: Scene): void {
    this.scene = scene;
    this.next = null;
    this.now = scene.from;
    this.rewind();
    this.words();
    this.draw();
  }

  private rewind(): void {
    this.done = 0;
    this.waiting = [...this.scene!.waiting];
    this.sending = null;
  }

  /** The following event happens. */
  private advance(): void {
    const one = this.scene!.events[this.done++]!;
    this.now = one.time;
    const place = this.waiting.findIndex(({ arrival }) => arrival === one.arrival);
    if (one.event === ENQUEUE) this.waiting.push(one);
    else if (one.event === DEQUEUE || one.event === DROP) {
      if (place >= 0) this.waiting.splice(place, 1);
      if (one.event === DEQUEUE) this.sending = { ...one, start: one.time };
    }
  }

  private step(by: number): void {
    if (!this.scene) return;
    this.pause();
    const wanted = this.done + by;
    if (wanted > this.scene.events.length) {
      if (!this.scene.over) void this.follow().then(() => this.step(1));
      return;
    }
    if (wanted < this.done) {
      this.rewind();
      this.now = this.scene.from;
    }
    while (this.done < Math.max(0, wanted)) this.advance();
    this.words();
    this.draw();
  }

  /** Go on to the next scene. */
  private async follow(): Promise<void> {
    const scene = this.scene!;
    const mine = ++this.loads;
    const next = await (this.next ?? this.ask(scene.until + 1e-9));
    if (mine === this.loads) this.enter(next);
  }

  /** Go to the next drop or mark. */
  private async seek(): Promise<void> {
    this.pause();
    while (this.scene) {
      while (this.done < this.scene.events.length) {
        this.advance();
        if (this.scene.events[this.done - 1]!.event >= DROP) {
          this.words();
          this.draw();
          return;
        }
      }
      if (this.scene.over) break;
      this.decision.textContent = `Searching … ${this.scene.until.toFixed(2)} s`;
      const before = this.scene;
      await this.follow();
      if (this.scene === before) return;
    }
    this.decision.textContent = "No more drops or marks.";
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const act: Record<string, () => void> = {
      " ": () => this.toggle(),
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      d: () => void this.seek(),
    };
    const found = act[event.key];
    if (!found || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    found();
  }

  private toggle(): void {
    if (this.playing) return this.pause();
    if (!this.scene || still.matches) return;
    this.playing = true;
    this.play.textContent = "Pause";
    let last = performance.now();
    const frame = (at: number): void => {
      if (!this.playing || !this.scene) return;
      const until = this.now + (Math.min(100, Math.max(0, at - last)) / 1000) * this.pace;
      last = at;
      const before = this.done;
      const { events, over } = this.scene;
      while (this.done < events.length && events[this.done]!.time <= until) this.advance();
      this.now = Math.min(until, this.scene.until);
      if (this.done > before) this.words();
      this.draw();
      if (this.done > events.length / 2 && !over) {
        this.next ??= this.ask(this.scene.until + 1e-9);
        this.next.catch(() => this.pause());
      }
      if (this.now < this.scene.until) requestAnimationFrame(frame);
      else if (over) this.pause();
      else void this.follow().then(() => requestAnimationFrame((at) => frame((last = at))), () => this.pause());
    };
    requestAnimationFrame(frame);
  }

  private pause(): void {
    this.playing = false;
    this.play.textContent = "Play";
  }

  /** Which packet, and the decision about it. */
  private sentence(one: PacketEvent): string {
    return `${one.time.toFixed(4)} s, ${this.flowName(one.flow)}: ${one.words}`;
  }

  private words(): void {
    const { events } = this.scene!;
    const last = events[this.done - 1];
    this.decision.textContent = last ? this.sentence(last) : `${this.now.toFixed(4)} s: ${this.waiting.length} packets wait`;
    const signals = events.slice(0, this.done).filter(({ event }) => event >= DROP).slice(-KEPT).reverse();
    this.log.replaceChildren(...signals.map((one) => element("li", one.event === DROP ? "drop" : "mark", this.sentence(one))));
    this.from.value = String(this.now);
    this.clock.textContent = `${this.now.toFixed(3)} s`;
    const flows = Object.keys(this.scene!.flows).map(Number);
    this.legend.replaceChildren(...flows.slice(0, 12).flatMap((flow) => {
      const swatch = element("i", "swatch");
      swatch.style.background = colourOf(flow);
      return [swatch, `${this.flowName(flow)}  `];
    }));
    if (flows.length > 12) this.legend.append(`and ${flows.length - 12} more`);
  }

  private flowName(flow: number): string {
    const traffic = (this.data.plan["traffic"] as { name: string }[])[this.scene!.flows[flow] ?? -1];
    return `${traffic?.name ?? "flow"} ${flow}`;
  }

  private draw(): void {
    const scene = this.scene!;
    this.details.dataset["time"] = this.now.toFixed(9);
    const out: string[] = [];
    const ink = "currentColor";
    out.push(`<rect x="${TAIL}" y="${TOP - 4}" width="${HEAD - TAIL}" height="${TALL + 8}" fill="none" stroke="${ink}" stroke-opacity=".5"/>`);
    out.push(`<path d="M${HEAD} ${TOP + TALL / 2 - 12}H${END + 20}M${HEAD} ${TOP + TALL / 2 + 12}H${END + 20}" stroke="${ink}" stroke-opacity=".5"/>`);
    const label = (x: number, text: string, anchor = "start"): void => {
      out.push(`<text x="${x}" y="${TOP - 12}" text-anchor="${anchor}" font-size="13" fill="${ink}">${text}</text>`);
    };
    label(WAY, "arriving");
    label(TAIL, `waiting: ${this.waiting.length}`);
    label(END + 20, "on the link", "end");
    const width = Math.min(14, (HEAD - TAIL - 4) / Math.max(1, this.waiting.length));
    this.waiting.forEach((one, i) => out.push(packet(HEAD - 2 - (i + 1) * width, TOP, width * 0.85, TALL, one)));
    const speed = still.matches ? 0 : (HEAD - TAIL) / 3 / this.pace; // px per second of virtual time
    for (let i = this.done; i < scene.events.length && speed > 0; i++) {
      const one = scene.events[i]!;
      const x = TAIL - 16 - (one.time - this.now) * speed;
      if (x < WAY) break;
      if (one.event === ENQUEUE || (one.event === DROP && one.wasNew)) out.push(packet(x, TOP, 12, TALL, one));
    }
    const rate = rateOf(this.data, planOf(this.data, this.state, this.state.specs[this.which]!));
    if (this.sending) {
      const share = rate ? (this.now - this.sending.start) / ((this.sending.bytes * 8) / rate) : 0;
      if (share < 1) out.push(packet(HEAD + 8 + share * (END - HEAD - 8), TOP + TALL / 2 - 10, 14, 20, this.sending));
    }
    for (let i = this.done - 1; i >= 0; i--) {
      const one = scene.events[i]!;
      const age = speed > 0 ? (this.now - one.time) * speed / 60 : this.done - 1 - i; // 1: gone
      if (age >= 1) break;
      if (one.event !== DROP) continue;
      const x = one.wasNew ? TAIL - 16 : HEAD + 4;
      const y = TOP + TALL / 2 + age * 40;
      out.push(`<g opacity="${(1 - age * 0.8).toFixed(2)}">${packet(x, y, 12, 30, one)}<path d="M${x - 3} ${y - 3}l18 36m0 -36l-18 36" stroke="#d42a1a" stroke-width="2.5"/></g>`);
    }
    this.svg.innerHTML = out.join("");
  }

  /** The picture as a file, with the colours of the page and the words. */
  private file(): string {
    const style = getComputedStyle(document.body);
    const copy = this.svg.cloneNode(true) as SVGSVGElement;
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", "900");
    copy.setAttribute("height", String(TOP + TALL + 70));
    copy.setAttribute("color", style.color);
    copy.setAttribute("style", `background: ${style.backgroundColor}`);
    copy.setAttribute("font-family", "sans-serif");
    const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    for (const [key, value] of [["x", WAY], ["y", TOP + TALL + 62], ["font-size", 13], ["fill", "currentColor"]] as const) text.setAttribute(key, String(value));
    text.textContent = this.decision.textContent;
    copy.append(text);
    return new XMLSerializer().serializeToString(copy);
  }

  private async picture(): Promise<void> {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.file())}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    const context = canvas.getContext("2d")!;
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && download("packets.png", blob));
  }
}

function colourOf(flow: number): string {
  return FLOWS[flow % FLOWS.length]!;
}

/** A packet; a mark is a white band with a dark edge. */
function packet(x: number, y: number, width: number, height: number, one: { flow: number; ce: boolean }): string {
  const at = (n: number): string => n.toFixed(1);
  const body = `<rect x="${at(x)}" y="${at(y)}" width="${at(Math.max(1, width))}" height="${at(height)}" fill="${colourOf(one.flow)}"/>`;
  if (!one.ce) return body;
  return `${body}<rect x="${at(x)}" y="${at(y + height * 0.35)}" width="${at(Math.max(1, width))}" height="${at(height * 0.3)}" fill="#fff" stroke="#000"/>`;
}
