extension FleetEvent {
    /// The names of all events in plans and hook messages.
    static let kinds = [
        "drawn", "joined", "began", "ended", "waveConfirmed", "waveBegan", "soakBegan", "waveDone", "paused",
        "unpaused", "resumed", "halted", "tookBack", "killed", "killLanded", "retired", "clockMoved", "forgotten",
    ]

    /// The event's name.
    public var kind: String {
        switch self {
        case .drawn: "drawn"
        case .joined: "joined"
        case .began: "began"
        case .ended: "ended"
        case .waveConfirmed: "waveConfirmed"
        case .waveBegan: "waveBegan"
        case .soakBegan: "soakBegan"
        case .waveDone: "waveDone"
        case .paused: "paused"
        case .unpaused: "unpaused"
        case .resumed: "resumed"
        case .halted: "halted"
        case .tookBack: "tookBack"
        case .killed: "killed"
        case .killLanded: "killLanded"
        case .retired: "retired"
        case .clockMoved: "clockMoved"
        case .forgotten: "forgotten"
        }
    }

    /// The wave of the event, from 0.
    var wave: Int? {
        switch self {
        case .waveConfirmed(let wave, _), .waveBegan(let wave, _, _), .soakBegan(let wave, _), .waveDone(let wave),
            .tookBack(let wave, _, _), .retired(let wave, _, _):
            wave
        default: nil
        }
    }
}
