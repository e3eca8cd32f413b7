defmodule Mote.Native do
  # The functions of native/mote_nif: what they take and answer is documented there. Only stubs belong here,
  # and the name of the function that explains native code: a new version of this module takes every running
  # machine's references away.
  @moduledoc false

  use Mote.Native.Library, crate: :mote_nif, optional: [:tls]

  def machine_start(_name, _sponsors, _fuel, _memory, _gc, _order), do: :erlang.nif_error(:nif_not_loaded)

  def machine_choices(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_add_sponsor(_machine, _sponsor), do: :erlang.nif_error(:nif_not_loaded)
  def machine_remove_sponsor(_machine, _name), do: :erlang.nif_error(:nif_not_loaded)
  def machine_close(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_open(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_unfinished(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_stop(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_join(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_owner(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_postman(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_watcher(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_processes_ended(_machine, _pids), do: :erlang.nif_error(:nif_not_loaded)
  def machine_sweep(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_deliver(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_deliver_big(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_outbound(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_reports(_machine, _count), do: :erlang.nif_error(:nif_not_loaded)
  def machine_lost(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_info(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_module(_machine, _module), do: :erlang.nif_error(:nif_not_loaded)
  def machine_load(_machine, _version, _unit, _takes_over), do: :erlang.nif_error(:nif_not_loaded)
  def machine_succeed(_machine, _module, _tag), do: :erlang.nif_error(:nif_not_loaded)

  def machine_claim(_machine, _identity), do: :erlang.nif_error(:nif_not_loaded)
  def machine_retain(_machine, _key, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def journal_lock(_path, _who), do: :erlang.nif_error(:nif_not_loaded)
  def journal_about(_path), do: :erlang.nif_error(:nif_not_loaded)

  def journal_begin(_machine, _paths, _number, _how, _told, _names, _kept, _tag),
    do: :erlang.nif_error(:nif_not_loaded)

  def journal_prepare(_machine, _path), do: :erlang.nif_error(:nif_not_loaded)
  def journal_run(_machine, _paths, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def journal_wait(_machine, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def journal_info(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def journal_more(_machine, _place, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def journal_copied(_machine, _end), do: :erlang.nif_error(:nif_not_loaded)
  def replay_open(_path), do: :erlang.nif_error(:nif_not_loaded)
  def replay_changed(_file, _units), do: :erlang.nif_error(:nif_not_loaded)
  def replay_prepare(_machine, _file, _identity), do: :erlang.nif_error(:nif_not_loaded)
  def replay_begin(_machine, _file, _mark, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def replay_run(_machine, _file, _next, _goal, _search, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def replay_succeeds(_before, _machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_fingerprint(_machine, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def image_save(_machine, _path, _names, _kept, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def image_open(_path, _atoms), do: :erlang.nif_error(:nif_not_loaded)
  def image_load(_machine, _image, _number), do: :erlang.nif_error(:nif_not_loaded)
  def image_lost(_image), do: :erlang.nif_error(:nif_not_loaded)

  def image_restore(_machine, _image, _numbers, _resolved, _kept, _migrating, _tag),
    do: :erlang.nif_error(:nif_not_loaded)

  def image_migrated(_machine, _end, _answers, _kept, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def image_abandon(_end), do: :erlang.nif_error(:nif_not_loaded)

  def machine_collect(_machine, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def machine_sponsors(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def drain(_machine, _ignores_beam, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def drain_forget(_machine, _ticket), do: :erlang.nif_error(:nif_not_loaded)
  def machine_now(_machine), do: :erlang.nif_error(:nif_not_loaded)
  def machine_advance(_machine, _limit, _ignores_beam), do: :erlang.nif_error(:nif_not_loaded)
  def outbox_open(_machine, _capacity, _holds), do: :erlang.nif_error(:nif_not_loaded)
  def outbox_take(_outbox, _max), do: :erlang.nif_error(:nif_not_loaded)
  def outbox_letter(_letter), do: :erlang.nif_error(:nif_not_loaded)
  def outbox_close(_outbox), do: :erlang.nif_error(:nif_not_loaded)
  def outbox_info(_outbox), do: :erlang.nif_error(:nif_not_loaded)
  def cores, do: :erlang.nif_error(:nif_not_loaded)

  def create(_machine, _module, _name, _version, _captures, _sponsor),
    do: :erlang.nif_error(:nif_not_loaded)

  def create(_machine, _module, _name, _version, _captures, _sponsor, _kept),
    do: :erlang.nif_error(:nif_not_loaded)

  def create_big(_machine, _module, _name, _version, _captures, _sponsor, _kept),
    do: :erlang.nif_error(:nif_not_loaded)

  def create_many(_machine, _module, _name, _version, _captures, _sponsor),
    do: :erlang.nif_error(:nif_not_loaded)

  def create_many_big(_machine, _module, _name, _version, _captures, _sponsor),
    do: :erlang.nif_error(:nif_not_loaded)

  def share(_machine, _value, _kept), do: :erlang.nif_error(:nif_not_loaded)

  def create_row(_machine, _module, _name, _version, _captures, _sponsor, _count, _kept),
    do: :erlang.nif_error(:nif_not_loaded)

  def send(_machine, _key, _sponsor, _message), do: :erlang.nif_error(:nif_not_loaded)
  def send(_machine, _key, _sponsor, _message, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def send_big(_machine, _key, _sponsor, _message, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def send_after(_machine, _key, _sponsor, _message, _ms), do: :erlang.nif_error(:nif_not_loaded)
  def send_after(_machine, _key, _sponsor, _message, _ms, _kept), do: :erlang.nif_error(:nif_not_loaded)

  def send_after_big(_machine, _key, _sponsor, _message, _ms, _kept),
    do: :erlang.nif_error(:nif_not_loaded)

  def cancel_timer(_machine, _key), do: :erlang.nif_error(:nif_not_loaded)
  def send_many(_machine, _key, _sponsor, _messages), do: :erlang.nif_error(:nif_not_loaded)
  def send_many_big(_machine, _key, _sponsor, _messages), do: :erlang.nif_error(:nif_not_loaded)
  def send_pairs_big(_pairs, _sponsor), do: :erlang.nif_error(:nif_not_loaded)
  def send_pairs(_pairs, _sponsor), do: :erlang.nif_error(:nif_not_loaded)
  def ask(_machine, _key, _sponsor, _request), do: :erlang.nif_error(:nif_not_loaded)
  def ask(_machine, _key, _sponsor, _request, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def ask_wait(_machine, _asker, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def ask_async(_machine, _key, _sponsor, _request, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def ask_async(_machine, _key, _sponsor, _request, _tag, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def ask_async_big(_machine, _key, _sponsor, _request, _tag, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def request(_machine, _key, _request, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def request(_machine, _key, _request, _tag, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def request_big(_machine, _key, _request, _tag, _kept), do: :erlang.nif_error(:nif_not_loaded)

  def wait_for_room(_machine, _key, _sponsor, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def leave_line(_place), do: :erlang.nif_error(:nif_not_loaded)

  def send_permitted(_permit, _machine, _key, _sponsor, _message, _kept),
    do: :erlang.nif_error(:nif_not_loaded)

  def cancel(_asker), do: :erlang.nif_error(:nif_not_loaded)
  def cancelled(_asker), do: :erlang.nif_error(:nif_not_loaded)
  def answer(_customer, _answer), do: :erlang.nif_error(:nif_not_loaded)
  def answer_big(_customer, _answer), do: :erlang.nif_error(:nif_not_loaded)
  def environment, do: :erlang.nif_error(:nif_not_loaded)
  def environment_kill(_environment, _ends), do: :erlang.nif_error(:nif_not_loaded)

  def future(_machine, _behaviour, _sponsor, _request, _environment), do: :erlang.nif_error(:nif_not_loaded)

  def future(_machine, _behaviour, _sponsor, _request, _environment, _kept),
    do: :erlang.nif_error(:nif_not_loaded)

  def future_big(_machine, _behaviour, _sponsor, _request, _environment, _kept),
    do: :erlang.nif_error(:nif_not_loaded)

  def future_value(_future), do: :erlang.nif_error(:nif_not_loaded)
  def future_value_big(_future), do: :erlang.nif_error(:nif_not_loaded)
  def future_wait(_machine, _future, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def future_finished(_future), do: :erlang.nif_error(:nif_not_loaded)
  def future_kill(_future), do: :erlang.nif_error(:nif_not_loaded)
  def send_trap(_machine, _key, _sponsor), do: :erlang.nif_error(:nif_not_loaded)
  def peek(_machine, _key), do: :erlang.nif_error(:nif_not_loaded)
  def peek(_machine, _shard, _entry), do: :erlang.nif_error(:nif_not_loaded)
  def peek_entries(_machine, _shard, _after), do: :erlang.nif_error(:nif_not_loaded)
  def inspect_entries(_machine, _shard, _after, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def inspect_entries(_machine, _shard, _after, _tag, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def inspect_entries_big(_machine, _shard, _after, _tag, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def fold_here(_machine, _place, _module, _name), do: :erlang.nif_error(:nif_not_loaded)
  def fold_there(_machine, _place, _module, _name, _still, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def actor_info(_machine, _key, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def actor_graph(_machine, _key, _depth, _limit, _tag), do: :erlang.nif_error(:nif_not_loaded)

  def socket_listen(_machine, _sponsor, _place, _session, _plan, _tls), do: :erlang.nif_error(:nif_not_loaded)
  def socket_connect(_machine, _sponsor, _place, _connections, _tls), do: :erlang.nif_error(:nif_not_loaded)
  def socket_datagrams(_machine, _sponsor, _place, _peer, _options), do: :erlang.nif_error(:nif_not_loaded)
  def socket_dialer(_machine, _sponsor, _allowed, _connections, _kept), do: :erlang.nif_error(:nif_not_loaded)

  def desk_open(_machine, _sponsor, _timeout), do: :erlang.nif_error(:nif_not_loaded)
  def desk_asked(_desk), do: :erlang.nif_error(:nif_not_loaded)
  def desk_next(_desk, _comes), do: :erlang.nif_error(:nif_not_loaded)
  def desk_leave(_desk), do: :erlang.nif_error(:nif_not_loaded)
  def desk_lost(_desk, _workers), do: :erlang.nif_error(:nif_not_loaded)
  def desk_machine(_desk), do: :erlang.nif_error(:nif_not_loaded)
  def desk_close(_desk), do: :erlang.nif_error(:nif_not_loaded)
  def desk_overdue(_desk), do: :erlang.nif_error(:nif_not_loaded)
  def machine_blocking(_machine, _n), do: :erlang.nif_error(:nif_not_loaded)
  def machine_turns(_machine, _sponsor), do: :erlang.nif_error(:nif_not_loaded)
  def turn_done(_desk, _number, _steps, _next), do: :erlang.nif_error(:nif_not_loaded)
  def turn_done(_desk, _number, _steps, _next, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def turn_done_big(_desk, _number, _steps, _next, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def turn_self(_desk, _number), do: :erlang.nif_error(:nif_not_loaded)
  def turn_over(_desk, _number, _how), do: :erlang.nif_error(:nif_not_loaded)
  def turn_aborted(_desk, _number, _reason), do: :erlang.nif_error(:nif_not_loaded)
  def turn_aborted(_desk, _number, _reason, _kept), do: :erlang.nif_error(:nif_not_loaded)
  def turn_aborted_big(_desk, _number, _reason, _kept), do: :erlang.nif_error(:nif_not_loaded)

  def words_in(_term), do: :erlang.nif_error(:nif_not_loaded)
  def words_in_big(_term), do: :erlang.nif_error(:nif_not_loaded)
  def listed_new, do: :erlang.nif_error(:nif_not_loaded)
  def listed_add(_listed, _announced), do: :erlang.nif_error(:nif_not_loaded)
  def listed_add_big(_listed, _announced), do: :erlang.nif_error(:nif_not_loaded)
  def listed_drop(_listed, _numbers), do: :erlang.nif_error(:nif_not_loaded)
  def listed_drop_big(_listed, _numbers), do: :erlang.nif_error(:nif_not_loaded)
  def listed_clear(_listed), do: :erlang.nif_error(:nif_not_loaded)
  def references_in(_term), do: :erlang.nif_error(:nif_not_loaded)
  def references_in_big(_term), do: :erlang.nif_error(:nif_not_loaded)
  def dropped_new, do: :erlang.nif_error(:nif_not_loaded)
  def dropped_take(_dropped, _at_most), do: :erlang.nif_error(:nif_not_loaded)
  def far_key(_key, _dropped, _number), do: :erlang.nif_error(:nif_not_loaded)
  def own_key(_machine, _key), do: :erlang.nif_error(:nif_not_loaded)
  def actor_hold(_machine, _key, _hold, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def actors_go_on(_machine, _actors, _hold, _next, _tag), do: :erlang.nif_error(:nif_not_loaded)

  def actor_goes_on_big(_machine, _actor, _hold, _next, _tag, _kept),
    do: :erlang.nif_error(:nif_not_loaded)

  def machine_trace(_machine, _filter, _to, _limit), do: :erlang.nif_error(:nif_not_loaded)
  def machine_trace_end(_machine, _number), do: :erlang.nif_error(:nif_not_loaded)
  def machine_pause(_machine, _paused), do: :erlang.nif_error(:nif_not_loaded)
  def machine_step_turn(_machine, _sponsor, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def check_pattern(_pattern), do: :erlang.nif_error(:nif_not_loaded)
  def machine_awaited(_machine, _n, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def machine_sockets(_machine, _n, _out, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def machine_waiting(_machine, _asker, _n, _tag), do: :erlang.nif_error(:nif_not_loaded)

  def machine_prove(_machine, _search, _bounds, _goals, _milliseconds, _tag),
    do: :erlang.nif_error(:nif_not_loaded)

  def machine_census(_machine, _n, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def machine_watch(_machine, _id, _milliseconds, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def machine_watched(_machine, _id, _n, _tag), do: :erlang.nif_error(:nif_not_loaded)
  def unit_remarks(_unit), do: :erlang.nif_error(:nif_not_loaded)

  # The name under which people look for it.
  defdelegate explain(module), to: Mote.Native.Explanation
end
