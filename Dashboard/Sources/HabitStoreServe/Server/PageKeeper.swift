import Foundation
import HabitStoreFleet
import Synchronization

/// The page as it is now, one for all viewers.
final class PageKeeper: Sendable {
    /// What was rendered.
    struct Page: Sendable {
        /// Another number than before where anything in it may be another.
        let number: Int
        /// The parts that are replaced while the page is open, by the elements' identifiers.
        let parts: [(id: String, html: String)]
        /// How it goes.
        let sentence: String
        /// What has to be typed to stop the fleet: the name of the wave that is on the way; the root's where there is none.
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
    // Reading waits for the disk, which no thread of Swift's tasks is for.
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

    /// What people call the fleet.
    var fleetName: String { subject.fleetName }

    /// A command with the root in it.
    func filled(_ command: String) -> String { subject.filled(command) }

    /// How soon the page is written anew though nothing was read: lengths of time in it grow.
    private static let renderSeconds = 10.0

    /// The clock by which times are shown.
    var clock: Clock { Clock(timeZone: timeZone, now: Date()) }

    /// The page as it is now, or was less than a second ago.
    func current() async -> Page {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.look()) }
        }
    }

    /// The same; nil where reading takes longer than so many seconds, since a disk does not answer.
    func current(within seconds: Double) async -> Page? {
        await withCheckedContinuation { continuation in
            let first = FirstAnswer(continuation)
            queue.async { first.give(self.look()) }
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { first.give(nil) }
        }
    }

    /// Has the next page show what somebody has just changed. Nobody is waited for.
    func lookAnew() { queue.async { _ = self.watch.snapshot(looksAnew: true) } }

    /// Hands on the first of several answers.
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
