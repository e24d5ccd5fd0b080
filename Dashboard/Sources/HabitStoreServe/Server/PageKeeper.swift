import Foundation
import HabitStoreFleet
import Synchronization

/// Renders the current page, once for all viewers.
final class PageKeeper: Sendable {
    /// A rendered page.
    struct Page: Sendable {
        /// A number that changes with every rendering.
        let number: Int
        /// The parts that are replaced while the page is open, by the ids of their elements.
        let parts: [(id: String, html: String)]
        /// The fleet's status in a sentence.
        let sentence: String
        /// The text to type for stopping the fleet: the name of the current wave; nil, for the root's name, without one.
        let wave: String?
    }

    private struct State {
        var page: Page?
        var snapshot = -1
        var rendered = ContinuousClock.now
    }

    private let watch: FleetWatch
    private let templates: Templates
    private let timeZone: TimeZone
    private let subject: PageSubject
    private let state = Mutex(State())
    // Reading blocks on the disk, which a Swift task must not do.
    private let queue = DispatchQueue(label: "habitstore.page")

    init(_ options: ServeOptions, _ templates: Templates) throws {
        watch = try FleetWatch(
            root: options.root,
            store: options.storeName,
            flags: options.flags,
            showsUsers: options.showsUsers
        )
        (self.templates, timeZone) = (templates, options.timeZone)
        subject = PageSubject(root: options.root, storeName: options.storeName, showsUsers: options.showsUsers)
    }

    /// The fleet's name.
    var fleetName: String { subject.fleetName }

    /// A command with the root filled in.
    func filled(_ command: String) -> String { subject.filled(command) }

    /// How often the page is rendered even without changes, because durations in it grow.
    private static let renderSeconds = 10.0

    /// Formats the page's times.
    var clock: Clock { Clock(timeZone: timeZone, now: Date()) }

    /// The page, less than a second old.
    func current() async -> Page {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.look()) }
        }
    }

    /// The page, less than a second old; nil if reading takes longer than `seconds` because a disk does not respond.
    func current(within seconds: Double) async -> Page? {
        await withCheckedContinuation { continuation in
            let first = FirstAnswer(continuation)
            queue.async { first.give(self.look()) }
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { first.give(nil) }
        }
    }

    /// Makes the next page show a change that was just made. Does not wait.
    func lookAnew() { queue.async { _ = self.watch.snapshot(looksAnew: true) } }

    /// Passes on the first of several answers.
    private final class FirstAnswer: Sendable {
        private let waiting: Mutex<CheckedContinuation<Page?, Never>?>

        init(_ continuation: CheckedContinuation<Page?, Never>) { waiting = Mutex(continuation) }

        func give(_ page: Page?) {
            let continuation = waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(returning: page)
        }
    }

    private func look() -> Page {
        let snapshot = watch.snapshot()
        return state.withLock { state in
            let age = ContinuousClock.now - state.rendered
            if let page = state.page, state.snapshot == snapshot.number, age < .seconds(Self.renderSeconds) {
                return page
            }
            let model = PageModel(snapshot, subject, clock)
            let page = Page(
                number: (state.page?.number ?? 0) + 1,
                parts: Templates.fragments.map { id, _ in
                    let isKnown = model.problem.isEmpty || Templates.needNoFleet.contains(id)
                    return (id, isKnown ? templates.render(id, model) : Templates.unknown)
                },
                sentence: model.sentence,
                wave: (try? snapshot.fleet.get())?.current?.wave.name
            )
            state = State(page: page, snapshot: snapshot.number)
            return page
        }
    }
}
