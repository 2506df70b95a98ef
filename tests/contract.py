"""Which tests hold each clause of the contract, `memory_app/guide/contract.md`; `test_contract.py` keeps both in step.

A row names tests by their functions, without `test_`. It need not name every test of a clause, but those that would
fail first if the program broke it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HELD_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "L1": (
        "the_arrows_are_those_of_the_table_and_no_others",
        "what_a_memory_means_does_no_input_or_output_and_reads_no_clock",
    ),
    "L2": ("the_core_needs_the_standard_library_alone", "only_the_server_knows_the_sdk"),
    "L3": ("disk_is_the_only_package_whose_calls_change_the_file_system",),
    "T1": (
        "the_nine_tools_of_the_npm_server_are_listed_in_its_order",
        "random_calls_agree_with_the_model_and_with_a_fresh_process",
    ),
    "T2": (
        "every_tool_has_exactly_the_declared_parts",
        "annotations_tell_reads_deletes_and_additions_apart",
        "a_schema_is_plain_and_every_part_of_it_described",
    ),
    "T3": ("a_result_fits_its_schema_only_with_declared_keys_and_all_required_ones", "calls_give_whole_results"),
    "T4": (
        "a_missing_end_fails_the_whole_call",
        "an_error_names_the_argument_what_was_expected_what_came_and_a_right_call",
    ),
    "T5": ("an_entity_that_exists_or_came_earlier_in_the_call_is_skipped_with_its_observations",),
    "T6": (
        "a_relation_that_exists_or_came_earlier_in_the_call_is_left_out",
        "only_what_an_entity_lacks_is_added",
        "a_missing_entity_fails_the_whole_addition",
    ),
    "T7": (
        "deleting_counts_each_asked_item_and_names_the_misses",
        "relations_go_with_their_entity_also_where_that_was_missing",
    ),
    "T8": ("open_nodes_tells_relations_between_the_named_from_those_that_lead_outside",),
    "T9": ("the_parts_of_an_answer_make_the_whole",),
    "T10": (
        "every_array_and_object_may_arrive_as_a_json_string",
        "a_missing_part_is_not_guessed_where_something_is_deleted",
        "no_call_stores_junk_or_deletes_the_wrong_thing",
    ),
    "T11": ("unknown_keys_are_passed_over",),
    "T12": ("an_unknown_tool_is_not_a_tools_error",),
    "T13": ("an_answer_that_is_too_large_says_how_to_ask_for_less",),
    "Q1": ("search_agrees_with_the_naive_rules", "folding_is_the_stated_sequence", "matches_come_in_file_order"),
    "Q2": ("words_count_only_when_nothing_holds_the_whole_query", "words_may_stand_in_different_texts_of_an_entity"),
    "Q3": (
        "questions_that_were_written_afterwards_are_answered_too",
        "an_answer_of_the_stages_before_stays_as_it_was",
        "a_loose_answer_says_so",
    ),
    "Q4": ("relevance_is_exact_name_beginning_name_some_words_of_it_type_observation",),
    "Q5": (
        "a_star_matches_everything_where_nothing_holds_one",
        "a_query_of_2048_characters_is_taken_and_a_longer_one_refused",
    ),
    "F1": (
        "our_own_form_has_our_keys_in_order_and_no_spaces",
        "a_name_may_hold_what_other_programs_take_for_a_line_end",
    ),
    "F2": (
        "a_write_brings_lines_into_order_and_loses_none",
        "any_bytes_are_read_without_a_crash_and_survive_a_write_about_something_else",
    ),
    "F3": (
        "an_untouched_record_keeps_its_bytes",
        "deleting_takes_the_items_out_and_leaves_the_form_of_all_others",
        "an_edit_changes_the_observations_and_no_other_key",
    ),
    "F4": (
        "the_parser_refuses_what_other_programs_would_read_differently",
        "an_unreadable_line_is_kept_at_its_side_of_the_records",
    ),
    "F5": ("each_record_of_a_line_has_its_own_bytes", "a_name_on_several_lines_is_one_entity_of_the_first_type"),
    "F6": ("a_dangling_relation_is_known_when_its_end_is_made", "a_lone_surrogate_leaves_as_the_replacement_character"),
    "F7": (
        "another_shape_is_understood_and_known_as_foreign",
        "a_file_of_another_shape_is_copied_before_its_first_write",
    ),
    "F8": ("something_else_is_refused", "something_else_is_told_to_every_call_and_never_written"),
    "F9": ("what_was_tolerated_is_told_with_line_numbers_and_without_contents", "what_was_tolerated_is_reported_once"),
    "S1": ("a_save_is_these_calls_in_this_order", "a_change_that_changes_nothing_takes_no_lock_and_writes_nothing"),
    "S2": (
        "a_fault_loses_nothing_leaves_nothing_and_is_told_truly",
        "an_error_after_the_rename_says_that_the_change_is_stored_and_the_store_goes_on",
    ),
    "S3": ("forty_calls_at_once_share_saves_and_each_has_its_own_outcome",),
    "S4": (
        "a_save_waits_for_a_program_that_is_writing_in_place",
        "a_program_that_is_caught_half_way_in_writing_in_place_loses_nothing",
    ),
    "S5": (
        "a_symbolic_link_stays_and_the_real_file_is_replaced_in_its_folder",
        "a_file_without_a_write_bit_is_refused_and_not_replaced",
        "a_folder_that_goes_away_is_an_error_and_not_a_new_memory",
        "a_file_mounted_by_itself_is_told_to_mount_its_folder",
    ),
    "S6": (
        "what_a_save_takes_away_from_is_kept_as_it_was",
        "the_first_save_of_a_day_keeps_one_and_later_additions_do_not",
        "a_folder_that_is_something_else_fails_no_save",
    ),
    "S7": ("old_temporary_files_of_our_pattern_are_removed_once",),
    "S8": ("a_fault_in_a_command_leaves_whole_files_and_loses_nothing",),
    "K1": ("the_record_names_this_process_and_leaves_out_what_is_unknown",),
    "K2": ("it_waits_15_seconds_so_that_one_missed_beat_costs_no_lock", "a_successor_at_the_path_is_never_refreshed"),
    "K3": (
        "a_lock_of_a_process_that_is_gone_is_broken_at_once",
        "a_record_that_proves_nothing_is_broken_after_30_seconds",
        "a_successor_between_judgement_and_removal_keeps_its_lock",
    ),
    "K4": ("a_lock_that_is_not_had_in_time_is_an_error_that_stored_nothing",),
    "K5": (
        "a_lock_that_was_lost_is_taken_again_and_the_change_redone",
        "the_look_at_the_file_is_the_last_call_before_the_rename",
    ),
    "K6": ("many_readers_while_the_file_changes_see_whole_states_and_no_error",),
    "W1": (
        "an_existing_writable_file_in_the_servers_folder_is_first",
        "then_an_existing_file_in_the_data_folder",
        "an_old_memory_is_renamed_in_each_default_place",
    ),
    "W2": ("a_path_is_expanded_once_on_unix", "a_path_is_expanded_once_on_windows"),
    "W3": ("a_memory_at_the_path_as_written_stays_and_stderr_and_doctor_say_so",),
    "W4": ("elsewhere_one_line_names_the_file",),
    "P1": ("the_first_message_decides_the_era_for_good",),
    "P2": ("the_handshake_announces_what_is_served", "discover_announces_what_is_served"),
    "P3": ("each_change_is_told_once_and_before_the_answer", "one_notification_for_calls_that_share_a_save"),
    "P4": ("what_is_printed_inside_never_reaches_the_client", "a_bad_line_is_answered_and_harms_nothing"),
    "P5": (
        "at_the_end_of_input_everything_is_answered_also_a_last_line_without_its_end",
        "a_second_signal_after_a_second_ends_a_stuck_server_at_once",
        "a_signal_that_the_starter_ignores_stays_ignored",
    ),
    "P6": ("a_memory_that_cannot_be_used_is_told_to_the_operator_and_not_to_clients",),
}
