import HabitStore
import NotesModel
