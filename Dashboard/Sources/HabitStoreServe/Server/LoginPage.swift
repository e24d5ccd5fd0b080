/// The contents of the login page.
struct LoginPage {
    let title = "HabitStore: the token"
    let problem: String?
}
