import HabitStore

/// A step that the following process takes on the followed user.
enum LiveRolloutStep: CustomStringConvertible {
    /// One stage forward through the gate.
    case forward
    /// Back by this many stages.
    case back(stages: Int)
    case kill(isForAll: Bool)
    case rearm
    /// Uses other users, so that the followed user's files are closed for them.
    case crowd(users: Int)
    case write(count: Int)
    /// Kills a writer with SIGKILL, and starts another one.
    case killWriter(Int)
    /// Kills all writers, waits until every stream has received what they left, and starts others.
    case killAllWriters
    /// Prunes the received history, except for its last transactions.
    case prune(keep: Int)
    /// Stops a writer for this long.
    case freezeWriter(Int, milliseconds: Int)
    /// Closes and reopens the user, with or without an engine in the flags.
    case reopen(EngineName?)
    /// Ends the stream at a place, and starts another one there.
    case exchange(Int)
    /// Follows the history again, after a percentage of what was received.
    case feed(percent: Int)
    /// Pauses the writers, and waits until every stream has received the current state.
    case quiet

    var description: String {
        switch self {
        case .forward: "forward"
        case .back(let stages): "back \(stages)"
        case .kill(let isForAll): isForAll ? "kill all users" : "kill"
        case .rearm: "re-arm"
        case .crowd(let users): "\(users) other users"
        case .write(let count): "write \(count)"
        case .killWriter(let writer): "kill writer \(writer)"
        case .killAllWriters: "kill all writers"
        case .prune(let keep): "prune all but \(keep)"
        case .freezeWriter(let writer, let milliseconds): "freeze writer \(writer) for \(milliseconds) ms"
        case .reopen(let engine): "reopen" + (engine.map { " wanting \($0.rawValue)" } ?? "")
        case .exchange(let place): "exchange stream \(place)"
        case .feed(let percent): "follow the history after \(percent) %"
        case .quiet: "quiet"
        }
    }

    /// The name under which it is counted.
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
        case .feed: "follow the history again"
        default: description
        }
    }
}
