extension FleetPlan {
    /// A program that gets a fleet's events.
    public struct Hook: Sendable, Hashable {
        /// The name that errors and reports use.
        public let name: String
        /// The path of the executable; nil in a plan that was drawn when hooks were URLs. The hook's events then wait until the plan is drawn again.
        public let program: String?
        /// The program's arguments.
        public var arguments: [String] = []
        /// The events that it gets; nil for all.
        public var events: Set<String>?
        /// Whether each wave waits until the hook has ended with exit code 0.
        public var confirmsWaves = false
        /// Whether it gets the ids of users for whom the fleet was halted.
        public var namesUsers = false
        /// How long the program may run, in seconds.
        public var timeoutSeconds = 10.0

        /// A hook that gets every event.
        public init(name: String, program: String) {
            (self.name, self.program) = (name, program)
        }

        /// A hook of a plan that was drawn when hooks were URLs.
        init(formerlyNamed name: String) {
            (self.name, program) = (name, nil)
        }

        /// Whether it gets an event.
        func wants(_ event: FleetEvent) -> Bool { events?.contains(event.kind) ?? true }
    }
}
