import HabitStore

/// Something that is done to a user who is followed, from the process that follows.
enum LiveRolloutStep: CustomStringConvertible {
    /// One stage forward, by the gate.
    case forward
    /// One stage back, or to the stage that is so many before.
    case back(stages: Int)
    case kill(isForAll: Bool)
    case rearm
    /// Uses other users, so that the files of the one who is followed are closed for them.
    case crowd(users: Int)
    case write(count: Int)
    /// Kills a writer with SIGKILL, and begins another one in its place.
    case killWriter(Int)
    /// Kills all writers, waits until every stream has come to what they left, and begins others.
    case killAllWriters
    /// Forgets the history that was told, but for so many transactions.
    case prune(keep: Int)
    /// Stops a writer for so long.
    case freezeWriter(Int, milliseconds: Int)
    /// Closes the user and opens it again, with a wish for an engine or without one.
    case reopen(EngineName?)
    /// Ends the stream at a place, and begins another one there.
    case exchange(Int)
    /// Begins to follow the history after a token that was told before: after so many percent of it.
    case feed(percent: Int)
    /// Has the writers rest, and waits until every stream has come to the present.
    case quiet

    var description: String {
        switch self {
        case .forward: "forward"
        case .back(let stages): "back \(stages)"
        case .kill(let isForAll): isForAll ? "kill everybody" : "kill"
        case .rearm: "re-arm"
        case .crowd(let users): "\(users) other users"
        case .write(let count): "write \(count)"
        case .killWriter(let writer): "kill writer \(writer)"
        case .killAllWriters: "kill all writers"
        case .prune(let keep): "prune but for \(keep)"
        case .freezeWriter(let writer, let milliseconds): "freeze writer \(writer) for \(milliseconds) ms"
        case .reopen(let engine): "reopen" + (engine.map { " wanting \($0.rawValue)" } ?? "")
        case .exchange(let place): "exchange stream \(place)"
        case .feed(let percent): "follow the history after \(percent) %"
        case .quiet: "quiet"
        }
    }

    /// What it is counted as.
    var kind: String {
        switch self {
        case .back: "back"
        case .crowd: "other users"
        case .write: "write"
        case .killWriter: "kill a writer"
        case .freezeWriter: "freeze a writer"
        case .prune: "prune"
        case .reopen: "reopen"
        case .exchange: "exchange a stream"
        case .feed: "follow the history once more"
        default: description
        }
    }
}
