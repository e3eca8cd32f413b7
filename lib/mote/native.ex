defmodule Mote.Native do
  # The functions of native/mote_nif: what they take and answer is documented there. Only their names belong here,
  # and the name of the function that explains native code: a new version of this module takes every running
  # machine's references away.
  @moduledoc false

  use Mote.Native.Library, crate: :mote_nif, optional: [:tls]

  # With their numbers of arguments, by the file of native/mote_nif/src/nifs/ that has them.
  @functions [
    machines: ~w(
      machine_start/6 machine_choices/1 machine_add_sponsor/2 machine_remove_sponsor/2 machine_close/1
      machine_open/1 machine_unfinished/1 machine_stop/1 machine_join/1 machine_owner/1
      machine_reports/2 machine_lost/1 machine_info/1 machine_module/2 machine_load/4 machine_succeed/3
      machine_claim/2 machine_retain/3 machine_sponsors/1 cores/0
    ),
    mail: ~w(machine_postman/1 machine_deliver_big/1 machine_outbound/1 machine_deliver/1),
    watches: ~w(machine_watcher/1 machine_processes_ended/2 machine_sweep/1),
    batches: ~w(send_many/4 send_many_big/4 send_pairs_big/2 send_pairs/2),
    nodes: ~w(
      references_in/1 words_in/1 words_in_big/1 listed_new/0 listed_add/2 listed_add_big/2 listed_drop/2
      listed_drop_big/2 listed_clear/1 references_in_big/1 dropped_new/0 dropped_take/2 far_key/3
      own_key/2
    ),
    journals: ~w(
      journal_lock/2 journal_about/1 journal_begin/8 journal_prepare/2 journal_run/3 journal_wait/2
      journal_info/1 journal_more/3 journal_copied/2
    ),
    replays: ~w(
      replay_open/1 replay_changed/2 replay_prepare/3 replay_begin/4 replay_run/6 replay_succeeds/2
      machine_fingerprint/2
    ),
    images: ~w(
      image_save/5 image_open/2 image_load/3 image_lost/1 image_restore/7 image_migrated/5
      image_abandon/1
    ),
    surveys: ~w(
      machine_collect/2 peek/2 peek/3 peek_entries/3 inspect_entries/4 inspect_entries/5
      inspect_entries_big/5 fold_here/4 fold_there/6 actor_info/3 actor_graph/5 machine_awaited/3
      machine_sockets/4 machine_waiting/4 machine_census/3 machine_watch/4 machine_watched/4
    ),
    drains: ~w(drain/3 drain_forget/2),
    timers: ~w(machine_now/1 machine_advance/3 send_after/5 send_after/6 send_after_big/6 cancel_timer/2),
    outboxes: ~w(outbox_open/3 outbox_take/2 outbox_letter/1 outbox_close/1 outbox_info/1),
    actors: ~w(
      create/6 create/7 create_big/7 create_many/6 create_many_big/6 share/3 create_row/8 send/4 send/5
      send_big/5
    ),
    questions: ~w(
      ask/4 ask/5 ask_wait/3 ask_async/5 ask_async/6 ask_async_big/6 request/4 request/5 request_big/5
      cancel/1 cancelled/1 answer/2 answer_big/2
    ),
    room: ~w(wait_for_room/4 leave_line/1 send_permitted/6),
    futures: ~w(
      environment/0 environment_kill/2 future/5 future/6 future_big/6 future_value/1 future_value_big/1
      future_wait/3 future_finished/1 future_kill/1
    ),
    fault: ~w(send_trap/3),
    sockets: ~w(socket_listen/6 socket_connect/5 socket_datagrams/5 socket_dialer/5),
    desks: ~w(
      desk_open/3 desk_asked/1 desk_next/2 desk_leave/1 desk_lost/2 desk_machine/1 desk_close/1
      desk_overdue/1 machine_blocking/2 machine_turns/2 turn_done/4 turn_done/5 turn_done_big/5
      turn_self/2 turn_over/3 turn_aborted/3 turn_aborted/4 turn_aborted_big/4
    ),
    moves: ~w(actor_hold/4 actors_go_on/5 actor_goes_on_big/6),
    traces: ~w(machine_trace/4 machine_trace_end/2 machine_pause/2 machine_step_turn/3 check_pattern/1),
    proofs: ~w(machine_prove/6),
    remarks: ~w(unit_remarks/1)
  ]

  for {_file, functions} <- @functions, function <- functions do
    [name, arity] = String.split(function, "/")
    arguments = List.duplicate({:_, [], nil}, String.to_integer(arity))
    def unquote(String.to_atom(name))(unquote_splicing(arguments)), do: :erlang.nif_error(:nif_not_loaded)
  end

  # The name under which people look for it.
  defdelegate explain(module), to: Mote.Native.Explanation
end
