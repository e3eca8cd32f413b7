defmodule Mote.Prelude do
  # THE table of the functions of Elixir's library that behaviours can call and that are written in the language itself:
  # those without functions as arguments with `defpure`, which all callers share, those with them as templates, which
  # become code of each caller. What is a primitive, or a loop of the compiler, is in the tables of those.
  #
  # What is in this table has a property in `test/mote/behaviour/prelude_test.exs`, which compares it with Elixir's own.
  @moduledoc false

  @pure %{
    Access => [get: 2, get: 3],
    Kernel => [**: 2, get_in: 2, put_in: 3],
    Enum => [
      all?: 1,
      any?: 1,
      at: 2,
      at: 3,
      chunk_every: 2,
      chunk_every: 3,
      chunk_every: 4,
      concat: 1,
      concat: 2,
      dedup: 1,
      drop: 2,
      drop_every: 2,
      empty?: 1,
      fetch: 2,
      fetch!: 2,
      frequencies: 1,
      intersperse: 2,
      into: 2,
      join: 1,
      join: 2,
      max: 1,
      min: 1,
      min_max: 1,
      product: 1,
      reverse: 2,
      slice: 3,
      sort: 1,
      split: 2,
      take: 2,
      take_every: 2,
      uniq: 1,
      unzip: 1,
      with_index: 1,
      with_index: 2,
      zip: 1,
      zip: 2
    ],
    List => [
      delete: 2,
      delete_at: 2,
      duplicate: 2,
      first: 1,
      first: 2,
      flatten: 1,
      flatten: 2,
      insert_at: 3,
      keydelete: 3,
      keyfind: 3,
      keyfind: 4,
      keymember?: 3,
      keyreplace: 4,
      keysort: 2,
      keystore: 4,
      last: 1,
      last: 2,
      pop_at: 2,
      pop_at: 3,
      replace_at: 3,
      starts_with?: 2,
      wrap: 1,
      zip: 1
    ],
    Map => [
      drop: 2,
      equal?: 2,
      from_keys: 2,
      from_struct: 1,
      pop: 2,
      pop: 3,
      pop!: 2,
      replace: 3,
      replace!: 3,
      split: 2,
      take: 2
    ],
    MapSet => [
      delete: 2,
      difference: 2,
      disjoint?: 2,
      equal?: 2,
      intersection: 2,
      member?: 2,
      new: 0,
      new: 1,
      put: 2,
      size: 1,
      subset?: 2,
      symmetric_difference: 2,
      to_list: 1,
      union: 2
    ],
    Range => [new: 2, new: 3, shift: 2, size: 1],
    Keyword => [
      delete: 2,
      drop: 2,
      fetch: 2,
      fetch!: 2,
      get: 2,
      get: 3,
      get_values: 2,
      has_key?: 2,
      keys: 1,
      merge: 2,
      pop: 2,
      pop: 3,
      put: 3,
      put_new: 3,
      take: 2,
      values: 1
    ],
    Tuple => [append: 2, delete_at: 2, duplicate: 2, insert_at: 3, product: 1, sum: 1],
    Integer => [
      digits: 1,
      digits: 2,
      floor_div: 2,
      gcd: 2,
      mod: 2,
      parse: 1,
      pow: 2,
      to_string: 1,
      to_string: 2,
      undigits: 1,
      undigits: 2
    ],
    String => [
      at: 2,
      codepoints: 1,
      contains?: 2,
      downcase: 2,
      duplicate: 2,
      ends_with?: 2,
      first: 1,
      graphemes: 1,
      last: 1,
      length: 1,
      pad_leading: 2,
      pad_leading: 3,
      pad_trailing: 2,
      pad_trailing: 3,
      replace: 3,
      replace_prefix: 3,
      replace_suffix: 3,
      reverse: 1,
      slice: 3,
      split: 1,
      split: 2,
      split: 3,
      starts_with?: 2,
      to_charlist: 1,
      to_integer: 1,
      trim: 1,
      trim: 2,
      trim_leading: 1,
      trim_leading: 2,
      trim_trailing: 1,
      trim_trailing: 2,
      upcase: 2
    ]
  }

  @templates %{
    Enum => [
      all?: 2,
      any?: 2,
      chunk_by: 2,
      count: 2,
      dedup_by: 2,
      drop_while: 2,
      find: 2,
      find: 3,
      find_index: 2,
      find_value: 2,
      find_value: 3,
      flat_map: 2,
      flat_map_reduce: 3,
      frequencies_by: 2,
      group_by: 2,
      group_by: 3,
      into: 3,
      map_every: 3,
      map_intersperse: 3,
      map_join: 2,
      map_join: 3,
      map_reduce: 3,
      max_by: 2,
      min_by: 2,
      min_max_by: 2,
      product_by: 2,
      reduce: 2,
      reduce_while: 3,
      reject: 2,
      scan: 2,
      scan: 3,
      sort: 2,
      sort_by: 2,
      sort_by: 3,
      split_while: 2,
      split_with: 2,
      sum_by: 2,
      take_while: 2,
      uniq_by: 2,
      zip_reduce: 4,
      zip_with: 3
    ],
    Keyword => [update: 4, update!: 3],
    List => [foldl: 3, foldr: 3, update_at: 3],
    Map => [filter: 2, get_lazy: 3, merge: 3, put_new_lazy: 3, reject: 2],
    MapSet => [filter: 2, new: 2, reject: 2]
  }

  # What cannot have its own name there, since Kernel or a primitive has it.
  @names %{
    {String, :length} => :characters,
    {Integer, :to_string} => :text,
    {Kernel, :**} => :power,
    {Kernel, :get_in} => :inside,
    {Kernel, :put_in} => :put_inside
  }

  @entries Map.merge(
             for({module, names} <- @pure, {name, arity} <- names, into: %{}) do
               {{module, name, arity},
                {:pure, Module.concat(Mote.Prelude, module), Map.get(@names, {module, name}, name)}}
             end,
             for({module, names} <- @templates, {name, arity} <- names, into: %{}) do
               {{module, name, arity}, {:template, Module.concat(Mote.Prelude.Inline, module), name}}
             end
           )

  @modules Map.merge(
             Map.new(Map.keys(@pure), &{Module.concat(Mote.Prelude, &1), &1}),
             Map.new(Map.keys(@templates), &{Module.concat(Mote.Prelude.Inline, &1), &1})
           )

  @written @names
           |> Map.new(fn {{module, name}, here} -> {{Module.concat(Mote.Prelude, module), here}, name} end)
           |> Map.put({Mote.Prelude.Inline.Enum, :with_index_by}, :with_index)

  @doc "What users call a function that is written in `module` of the prelude; nil where `module` is none of those."
  @spec called(module | nil, atom) :: {module, atom} | nil
  def called(module, name) do
    case @modules do
      %{^module => public} -> {public, Map.get(@written, {module, name}, name)}
      _ -> nil
    end
  end

  @doc "Where `module.name/arity` is written, and by what name; or nil."
  @spec entry(module, atom, arity) :: {:pure | :template, module, atom} | nil
  def entry(module, name, arity), do: Map.get(@entries, {module, name, arity})

  @doc "All of them."
  @spec functions() :: [{module, atom, arity}]
  def functions, do: @entries |> Map.keys() |> Enum.sort()
end
