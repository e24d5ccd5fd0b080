/// The complete page, from rendered parts.
struct WholePage {
    struct Section {
        let id: String
        let title: String
        let html: String
    }

    let title: String
    let fleetName: String
    let notice: String?
    let summary: String
    let time: String
    let sections: [Section]
    let showsUsers: Bool

    private static let titles = [
        "stages": "Where users are", "waves": "Waves", "waiting": "Why users wait", "differences": "Differences",
        "timing": "How long writes take, and how far new stores lag", "switch": "Kill switch",
        "people": "Slowest and largest users", "audit": "Last actions",
    ]

    /// - Parameter notice: a message about the last action; nil for none.
    init(_ page: PageKeeper.Page, _ keeper: PageKeeper, notice: String?, showsUsers: Bool) {
        fleetName = keeper.fleetName
        title = "\(keeper.fleetName): HabitStore fleet"
        (self.notice, self.showsUsers) = (notice, showsUsers)
        time = keeper.clock.second(keeper.clock.now)
        summary = page.parts.first { $0.id == "summary" }?.html ?? ""
        sections = page.parts.compactMap { part in
            Self.titles[part.id].map { Section(id: part.id, title: $0, html: part.html) }
        }
    }
}
